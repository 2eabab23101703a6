"""Write pages: stylesheets and scripts, smaller markup, and several processes."""
