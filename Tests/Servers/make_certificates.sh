#!/bin/sh
# make_certificates.sh DIRECTORY
#
# Makes a certificate authority and server certificates in DIRECTORY, each as NAME.pem and NAME.key:
#
#   ca           the authority; trusted only where a test says so
#   valid        for 127.0.0.1, localhost and a few names below it
#   expired      the same, but its time has passed
#   not-yet-valid  the same, but its time has not begun
#   wrong-host   for another server
#   self-signed  for the right server, without an authority
#
# valid.pin, written last, is what curl calls the pinned public key of `valid`: sha256//BASE64. What openssl says goes to
# openssl.log.
set -eu
cd "$1"
exec 2>openssl.log

names='IP:127.0.0.1,IP:::1,DNS:localhost,DNS:a.localhost,DNS:b.localhost'

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# issue NAME SUBJECT_ALT_NAMES FIRST_DAY LAST_DAY
issue() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out request.pem
    printf 'subjectAltName = %s\nbasicConstraints = CA:FALSE\nextendedKeyUsage = serverAuth\n' "$2" >extensions.cnf
    openssl ca -batch -config ca.cnf -extfile extensions.cnf -startdate "$3" -enddate "$4" \
        -in request.pem -out "$1.pem" -notext
}

key ca
openssl req -new -x509 -key ca.key -days 30 -subj '/CN=Test authority' -out ca.pem
: >index.txt
cat >ca.cnf <<END
[ca]
default_ca = tests
[tests]
database = index.txt
new_certs_dir = .
rand_serial = yes
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = anything
unique_subject = no
[anything]
commonName = supplied
END

yesterday=$(date -u -d yesterday +%Y%m%d%H%M%SZ)
tomorrow=$(date -u -d tomorrow +%Y%m%d%H%M%SZ)
issue valid "$names" "$yesterday" "$tomorrow"
issue expired "$names" 20200101000000Z 20200201000000Z
issue not-yet-valid "$names" "$tomorrow" "$(date -u -d '2 days' +%Y%m%d%H%M%SZ)"
issue wrong-host DNS:other.example "$yesterday" "$tomorrow"
key self-signed
openssl req -new -x509 -key self-signed.key -days 1 -subj /CN=self-signed -addext "subjectAltName = $names" \
    -out self-signed.pem

openssl x509 -in valid.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
    openssl base64 | sed 's|^|sha256//|' >valid.pin
