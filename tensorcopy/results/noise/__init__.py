"""Handle noise: one or two modules per step, in the order in which they apply.

docs/noise.md explains each step and its constants.

quiet : which samples were taken while the machine was quiet, and which passes are excluded
page_faults : which passes of a case met page faults that its other passes did not
speed : how a case follows the control, and a disturbed sample corrected to the quiet speed
machine_drift : how much slower the machine moved memory in a pass, and that divided out
side_drift : how much of the drift between two results their cases confirm
spread : how much passes vary, from a comparison's own passes and from those of other results
"""
