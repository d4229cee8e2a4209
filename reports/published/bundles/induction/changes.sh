#!/bin/sh
# set HOST:PORT first; every change was verified: with it, what was asked holds
set -eu
