#!/bin/sh
# set HOST:PORT first; every change was decided: with it, what was asked holds
set -eu
