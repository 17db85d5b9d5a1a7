package openzro

import (
	"net/netip"
	"slices"
	"strings"
)

// defaultTTL is the one of a record that does not say, in seconds.
const defaultTTL = 300

func (r Record) key() string { return r.ID }

var recordRoutes = map[string]handler{
	"GET /api/dns/zones/{zone}/records":         getting((*request).zoneNamed, func(_ *Account, z *storedZone) []Record { return z.show().Records }),
	"POST /api/dns/zones/{zone}/records":        createRecord,
	"GET /api/dns/zones/{zone}/records/{id}":    getRecord,
	"PUT /api/dns/zones/{zone}/records/{id}":    updateRecord,
	"DELETE /api/dns/zones/{zone}/records/{id}": deleteRecord,
}

// recordNamed is where the one is that the path names, in its zone.
func (r *request) recordNamed() (of *storedZone, at int, err error) {
	if of, err = r.zoneNamed(); err != nil {
		return nil, 0, err
	}
	at = slices.IndexFunc(of.Records, func(one Record) bool { return one.ID == r.PathValue("id") })
	if at < 0 {
		return nil, 0, missing("record", r.PathValue("id"))
	}
	return of, at, nil
}

func getRecord(r *request) (any, error) {
	of, at, err := r.recordNamed()
	if err != nil {
		return nil, err
	}
	return of.Records[at], nil
}

// recordBody is a record as it is asked for.
func (r *request) recordBody() (asked Record, err error) {
	var body struct {
		Record
		TTL *int `json:"ttl"`
	}
	if err := r.decode(&body); err != nil {
		return asked, err
	}
	body.Record.TTL = defaultTTL
	if body.TTL != nil {
		if body.Record.TTL = *body.TTL; *body.TTL < 1 {
			return asked, invalid("a record lives for a second at least")
		}
	}
	return body.Record, nil
}

func createRecord(r *request) (any, error) {
	asked, err := r.recordBody()
	if err != nil {
		return nil, err
	}
	of, err := r.zoneNamed()
	if err != nil {
		return nil, err
	}
	asked.ID = newID()
	if err := of.check(&asked); err != nil {
		return nil, err
	}
	of.Records = append(of.Records, asked)
	return asked, nil
}

func updateRecord(r *request) (any, error) {
	asked, err := r.recordBody()
	if err != nil {
		return nil, err
	}
	of, at, err := r.recordNamed()
	if err != nil {
		return nil, err
	}
	asked.ID = r.PathValue("id")
	if err := of.check(&asked); err != nil {
		return nil, err
	}
	of.Records[at] = asked
	return asked, nil
}

func deleteRecord(r *request) (any, error) {
	of, at, err := r.recordNamed()
	if err != nil {
		return nil, err
	}
	of.Records = slices.Delete(of.Records, at, at+1)
	return empty{}, nil
}

// check checks a record, and brings its names into the server's form.
func (z *storedZone) check(r *Record) error {
	r.Name = normalDomain(r.Name)
	if !isDomain(r.Name) || !within(r.Name, z.Domain) {
		return invalid("%q is no name in %s", r.Name, z.Domain)
	}
	if err := r.checkContent(); err != nil {
		return err
	}
	for _, other := range z.Records {
		if other.ID != r.ID && other.Name == r.Name && (other.Type == "CNAME") != (r.Type == "CNAME") {
			return invalid("a CNAME and addresses cannot both be at %s", r.Name)
		}
	}
	return nil
}

func (r *Record) checkContent() error {
	address, err := netip.ParseAddr(r.Content)
	switch r.Type {
	case "A":
		if err != nil || !address.Unmap().Is4() {
			return invalid("%q is no IPv4 address", r.Content)
		}
	case "AAAA":
		if err != nil || address.Unmap().Is4() || address.Zone() != "" {
			return invalid("%q is no IPv6 address", r.Content)
		}
	case "CNAME":
		r.Content = normalDomain(r.Content)
		if err == nil || !isDomain(r.Content) || strings.ContainsAny(r.Content, " \t\n") {
			return invalid("%q is no name of a host", r.Content)
		}
	default:
		return invalid("there is no type %q of records: they are A, AAAA and CNAME", r.Type)
	}
	return nil
}
