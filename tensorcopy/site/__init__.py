"""Results to pages. Knows no torch and no asv.

series, answers : results in order, and what is true of them; book : all that the pages are made of
landing, chooser, histories, comparisons, sizes, doings, about, manual, data : a kind of page each, as values
pictures, plot, drawings : what is drawn; pages : values to HTML by templates/, with the words of ../words.toml
"""

from tensorcopy.site.pages import write

__all__ = ["write"]
