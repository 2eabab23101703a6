/* The interactive history chart. */
"use strict";
