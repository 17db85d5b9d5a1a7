package management

import (
	"fmt"
	"net/netip"
	"syscall"
)

// metadataAddresses are those at which clouds serve credentials and other data of a machine,
// where they are not link-local (169.254.0.0/16, fe80::/10).
var metadataAddresses = []netip.Prefix{
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure: WireServer, which has the certificates and settings of a machine
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud, classic
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS: metadata, credentials of EKS Pods, DNS, time
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"),  // Akamai (Linode)
}

// embedding are networks whose addresses lead to an IPv4 address that they contain, from a
// byte on.
var embedding = []struct {
	network netip.Prefix
	from    int
}{
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},  // NAT64 of a local network
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
}

// plain is the address that an address leads to.
func plain(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() || ip.IsLoopback() || ip.IsUnspecified() {
		return ip
	}
	for _, e := range embedding {
		if e.network.Contains(ip) {
			all := ip.As16()
			return netip.AddrFrom4([4]byte(all[e.from : e.from+4]))
		}
	}
	return ip
}

// isMetadata reports whether an address is that of a metadata service.
func isMetadata(ip netip.Addr) bool {
	for _, network := range metadataAddresses {
		if network.Contains(ip) {
			return true
		}
	}
	return ip.IsLinkLocalUnicast()
}

// reachable rejects addresses of metadata services, addresses of several machines, and those of
// this machine if the server is elsewhere: no management server has them, and a tenant names the
// server in a Secret. Names are already resolved.
func reachable(elsewhere bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		switch ip := plain(at.Addr()); {
		case isMetadata(ip) || ip.IsUnspecified() || ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return fmt.Errorf("%s is not a valid address of a management server; check managementURL", ip)
		case ip.IsLoopback() && elsewhere:
			return fmt.Errorf("%s is a loopback address, which a Secret may name only if --openzro-management-url does; check managementURL", ip)
		}
		return nil
	}
}
