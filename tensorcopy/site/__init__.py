"""Results as web pages: pages/ has a module for each kind of page, templates/ their HTML."""
