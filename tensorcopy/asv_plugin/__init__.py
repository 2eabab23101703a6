"""asv's commands on launches: torch releases are the commits of its repository, and `asv publish` writes the pages.

asv.conf.json names the module `tensorcopy.cli.asv`, and asv calls its `setup` before it runs a command. Only this folder imports asv.
`run` and `continuous` let releases take turns, `compare`, `find` and `show` read launches, `publish` and `gh-pages` write the pages,
`preview` and `machine` are asv's own. Any other command is refused in a line.
"""
