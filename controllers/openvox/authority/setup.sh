# What the setup Job of a CertificateAuthority runs. It may be run again at any time:
# what the volume has is kept, and written to the Secrets as it is there.
#
# An image with Lintel's own program for it needs no Ruby.
set -eu
if [ -x "$SETUP_PROGRAM" ]; then
  exec "$SETUP_PROGRAM"
fi
umask 077

# It is part of paths.
case "$CERTNAME" in
  "" | .* | -* | *..* | *[!a-z0-9._-]*)
    echo "\"$CERTNAME\" is no certname." >&2
    exit 1
    ;;
esac

conf="$WORK_DIR/puppet.conf"
ssl="$CA_DIR/setup-ssl"
names="$CERTNAME,$DNS_ALT_NAMES"

cat > "$conf" <<CONF
[main]
confdir = $WORK_DIR
vardir = $WORK_DIR/var
ssldir = $ssl
logdir = $WORK_DIR/log
rundir = $WORK_DIR/run
certname = $CERTNAME
manage_internal_file_permissions = false
ca_server = 127.0.0.1
ca_port = 1
[server]
cadir = $CA_DIR
ca_ttl = $CA_TTL
CONF

# It exists while an import is unfinished, and holds the next serial: the import is done again then.
unfinished="$CA_DIR/import-unfinished"
if [ -e "$unfinished" ] && [ -z "$INTERMEDIATE_DIR" ]; then
  echo "The import of the CA was interrupted: set spec.intermediateCA again to finish it, or delete the volume for a new CA." >&2
  exit 1
fi
if [ ! -s "$CA_DIR/ca_crt.pem" ] || [ -e "$unfinished" ]; then
  if [ "$CA_EXISTS" = true ]; then
    echo "The volume holds no CA, but Secret $CA_SECRET_NAME or $CA_KEY_SECRET_NAME has one: restore the volume. For a new CA, delete the CertificateAuthority, both Secrets and the volume, and then create the CertificateAuthority again." >&2
    exit 1
  fi
  if [ -n "$INTERMEDIATE_DIR" ]; then
    next=$NEXT_SERIAL
    if [ -e "$unfinished" ]; then
      # A serial that is higher already stays.
      for file in "$CA_DIR/serial" "$unfinished"; do
        had=$(cat "$file" 2> /dev/null || true)
        case "$had" in
          "" | *[!0-9A-Fa-f]*) ;;
          *) if [ "$((16#$had))" -gt "$((16#$next))" ]; then next=$had; fi ;;
        esac
      done
      # The command refuses to replace any of its files.
      for file in ca_crt.pem ca_key.pem ca_pub.pem ca_crl.pem infra_crl.pem infra_inventory.txt infra_serials inventory.txt serial "signed/$CERTNAME.pem"; do
        rm -f "$CA_DIR/$file"
      done
      rm -rf "$ssl"
    fi
    printf '%s\n' "$next" > "$unfinished"
    puppetserver ca import --config "$conf" --certname "$CERTNAME" --subject-alt-names "$DNS_ALT_NAMES" \
      --cert-bundle "$INTERMEDIATE_DIR/ca.pem" --private-key "$INTERMEDIATE_DIR/key.pem" --crl-chain "$INTERMEDIATE_DIR/crl.pem"
    # It starts at serial 1, with which it has made the pair of the server: that is made again.
    rm -f "$CA_DIR/signed/$CERTNAME.pem" "$ssl/certs/$CERTNAME.pem"
    if [ -s "$INTERMEDIATE_DIR/inventory.txt" ]; then
      cat "$INTERMEDIATE_DIR/inventory.txt" > "$CA_DIR/inventory.txt"
    fi
    printf '%s\n' "$next" > "$CA_DIR/serial"
  else
    puppetserver ca setup --config "$conf" --certname "$CERTNAME" --subject-alt-names "$DNS_ALT_NAMES" --ca-name "Puppet CA: $CA_NAME"
  fi
  printf '%s' "$names" > "$ssl/names"
  rm -f "$unfinished"
fi

# The server of a CA cannot ask the CA for its first certificate. One that has its pair asks
# for others, and may be writing to the volume.
if [ "$CA_SERVED" != true ] && { [ ! -s "$ssl/certs/$CERTNAME.pem" ] || [ "$(cat "$ssl/names" 2> /dev/null || true)" != "$names" ]; }; then
  rm -f "$CA_DIR/signed/$CERTNAME.pem" "$CA_DIR/requests/$CERTNAME.pem" "$ssl/certs/$CERTNAME.pem" \
    "$ssl/private_keys/$CERTNAME.pem" "$ssl/public_keys/$CERTNAME.pem"
  puppetserver ca generate --ca-client --force --config "$conf" --certname "$CERTNAME" --subject-alt-names "$DNS_ALT_NAMES"
  printf '%s' "$names" > "$ssl/names"
fi

pair=$CERTNAME
if [ -n "$RESCUE_CERTNAME" ]; then
  pair=$RESCUE_CERTNAME
  rm -f "$CA_DIR/signed/$pair.pem" "$CA_DIR/requests/$pair.pem" "$ssl/certs/$pair.pem" "$ssl/private_keys/$pair.pem" "$ssl/public_keys/$pair.pem"
  puppetserver ca generate --ca-client --force --config "$conf" --certname "$pair"
fi

# store writes files to keys of a Secret: name, then key and file by turns.
printf 'Authorization: Bearer %s' "$(cat "$TOKEN_DIR/token")" > "$WORK_DIR/authorization"
store() {
  secret=$1
  shift
  data=
  while [ $# -gt 0 ]; do
    data="$data${data:+,}\"$1\":\"$(base64 < "$2" | tr -d '\n')\""
    shift 2
  done
  printf '{"data":{%s}}' "$data" | curl --fail-with-body --silent --show-error --retry 5 --retry-all-errors --max-time 60 \
    --cacert "$TOKEN_DIR/ca.crt" --header "@$WORK_DIR/authorization" --header 'Content-Type: application/merge-patch+json' \
    --request PATCH --data-binary @- \
    "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat "$TOKEN_DIR/namespace")/secrets/$secret" > /dev/null
}

if [ -s "$ssl/certs/$pair.pem" ]; then
  store "$SSL_SECRET_NAME" cert.pem "$ssl/certs/$pair.pem" key.pem "$ssl/private_keys/$pair.pem"
fi
store "$CA_KEY_SECRET_NAME" ca_key.pem "$CA_DIR/ca_key.pem"
# The full list, by which servers check their clients.
set -- "$CA_CRL_SECRET_NAME" ca_crl.pem "$CA_DIR/ca_crl.pem"
if [ -s "$CA_DIR/infra_crl.pem" ]; then # imported CAs may have none
  set -- "$@" infra_crl.pem "$CA_DIR/infra_crl.pem"
fi
store "$@"
# Last, for by it others know that there is a CA.
store "$CA_SECRET_NAME" ca_crt.pem "$CA_DIR/ca_crt.pem"
