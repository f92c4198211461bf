#!/usr/bin/env bash
# Makes sure that the container engine has the base image that nodes are built
# on. Where it is missing it is pulled; where it cannot be pulled (no image
# registry within reach) it is made of Debian's own packages, by the mirror
# that this host's apt uses.
#
#   .ci/base-image.sh [IMAGE]      default debian:bookworm-slim
set -euo pipefail

image=${1:-debian:bookworm-slim}
suite=bookworm

docker image inspect "$image" > /dev/null 2>&1 && exit 0
echo "base image $image is not here: pulling it"
timeout 60 docker pull -q "$image" && exit 0

if [ "$image" != debian:bookworm-slim ]; then
  echo "$image cannot be pulled, and only debian:bookworm-slim can be made" >&2
  exit 1
fi
command -v debootstrap > /dev/null || {
  echo "$image cannot be pulled; debootstrap, which could make it, is not installed" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || { echo "debootstrap needs root" >&2; exit 1; }

echo "it cannot be pulled: making it with debootstrap"
# The mirror of apt, in either form of its configuration; else debootstrap's default.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $suite" 2> /dev/null | sed -n 1p)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
timeout 600 debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} > "$root.log" 2>&1 || {
  tail -20 "$root.log" >&2
  exit 1
}
rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
# The image's apt reads from where this host's does.
[ -z "$mirror" ] || printf 'deb %s %s main\ndeb %s %s-updates main\n' "$mirror" "$suite" "$mirror" "$suite" > "$root/etc/apt/sources.list"
tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$image" > /dev/null
echo "made $image"
