"""Lets asv measure the campaign of this package; its asv.conf.json lists this module as a plugin."""

from tensorcopy.asv_plugin import commands
from tensorcopy.copying.shipped import of_folder

commands.use(of_folder)
