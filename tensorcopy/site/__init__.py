"""Results as pages: model/ is what is true, charts/ what is drawn, pages/ a module per kind of page, templates/ the HTML."""
