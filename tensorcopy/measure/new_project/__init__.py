"""Write the files of a new project: its configuration, an example and workflows."""
