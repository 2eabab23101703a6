"""Results as web pages: model/ has values, pages/ a module for each kind of page, templates/ their HTML."""
