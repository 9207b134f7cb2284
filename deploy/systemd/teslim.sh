#!/bin/sh
# Runs a command as the user of the service, with its settings: teslim customer list
cd / && exec sudo -u teslim /usr/bin/node --env-file=/etc/teslim/teslim.env /opt/teslim/bin/teslim.js "$@"
