#!/bin/sh
# Runs a command as the user of the service, with its settings: teslim customer list
cd / && exec sudo -u teslim sh -c 'set -a && . /etc/teslim/teslim.env && exec /usr/local/bin/teslim "$@"' teslim "$@"
