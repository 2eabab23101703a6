"""Results as web pages.

model/ holds values, charts/ draws SVG, pages/ has a module per kind of page, data_files/ writes data, docgen/ writes docs.
"""
