# An image of PuppetDB, built with a container engine. docs/openvox/images.md describes the
# build without one, and how to build openvox-db-layer.tar.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends puppetdb dbconfig-no-thanks ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && chgrp -R 0 /etc/puppetdb \
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} +
ADD openvox-db-layer.tar /
ENV HOME=/run/puppetlabs LANG=C.UTF-8
USER 1001:0
EXPOSE 8081
ENTRYPOINT ["/usr/bin/java", "-cp", "/usr/share/puppetdb/puppetdb.jar", "clojure.main", "-m", "puppetlabs.puppetdb.core", "services", "--config", "/etc/puppetlabs/puppetdb/conf.d", "--bootstrap-config", "/etc/puppetlabs/puppetdb/bootstrap.cfg"]
