package origin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

const (
	// maxSignatureBytes bounds a detached signature.
	maxSignatureBytes = 64 << 10
	// signatureSuffix is the end of the path of a signature without an address of its own.
	signatureSuffix = ".sig"
)

// fetchHTTPS reads data and its signature. The address may be known to have the data: it is read
// in any case, because only its content shows whether it has changed.
func fetchHTTPS(ctx context.Context, request Request) (*Answer, error) {
	from := request.HTTPS
	if request.Data == nil {
		return nil, refuse(ReasonFetchFailed, "spec.https is an origin of data only")
	}
	text, err := readURL(ctx, request, from.URL, request.Data.MaxBytes)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	answer := &Answer{Revision: "sha256:" + hex.EncodeToString(sum[:])}
	if answer.Revision == request.Known {
		return answer, nil
	}
	if from.Verify != nil {
		if answer.Signature, err = verifyDetached(ctx, request, text); err != nil {
			return nil, err
		}
	}
	answer.Files = map[string]string{request.Data.File: string(text)}
	return answer, nil
}

// readURL reads at most so many bytes. It follows no redirect: the address of the data is an
// administrator's decision, and credentials must not go elsewhere.
func readURL(ctx context.Context, request Request, address string, most int64) ([]byte, error) {
	if err := CheckDataURL(address); err != nil {
		return nil, err
	}
	request.HTTPS = &v1alpha1.HTTPSOrigin{URL: address, CABundle: request.HTTPS.CABundle} // for messages
	budget := &budget{left: most + 1, progress: request.progress}
	client, err := pinnedClient(request, budget)
	if err != nil {
		return nil, err
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, refuse(ReasonFetchFailed, "spec.https.url is not a valid URL: correct it")
	}
	get.Header.Set("User-Agent", "lintel")
	authentication, err := httpAuthentication(request.Credentials)
	if err != nil {
		return nil, err
	}
	if method, ok := authentication.(interface{ SetAuth(*http.Request) }); ok {
		method.SetAuth(get)
	}
	response, err := client.Do(get)
	if err != nil {
		return nil, describeHTTPS(err, request, budget)
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code >= 300 && code < 400:
		return nil, refuse(ReasonRedirected, "%s redirects to %s, which is not followed: set the url to the final address, if it is to be trusted", addressOf(request), target(response))
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, refuse(ReasonAuthenticationFailed, "%s refuses the credentials (%s): correct the Secret that secretRef names", addressOf(request), response.Status)
	case code == http.StatusNotFound || code == http.StatusGone:
		return nil, refuse(ReasonNotFound, "%s does not exist (%s): publish the file, or correct the url", addressOf(request), response.Status)
	case code != http.StatusOK:
		return nil, refuse(ReasonFetchFailed, "%s answers with %s", addressOf(request), response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if int64(len(text)) > most {
		return nil, refuse(ReasonTooLarge, "%s sends more than %d bytes: raise spec.maxBytes, or shorten the data", addressOf(request), most)
	}
	if err != nil {
		return nil, describeHTTPS(err, request, budget)
	}
	return text, nil
}

// CheckDataURL refuses an address of data that is not HTTPS, or that contains a password.
func CheckDataURL(address string) error {
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Hostname() == "" || parsed.Scheme != "https":
		return refuse(ReasonFetchFailed, "spec.https.url must begin with https:// and a host: correct it")
	case parsed.User != nil:
		return refuse(ReasonCredentialsInvalid, "spec.https.url contains credentials, which every reader of the DataSource can see: put them into a Secret, and name it in spec.https.secretRef")
	}
	return nil
}

// pinnedClient trusts the authorities of spec.https.caBundle alone, if there are any.
func pinnedClient(request Request, budget *budget) (*http.Client, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if bundle := request.HTTPS.CABundle; len(bundle) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(bundle) {
			return nil, refuse(ReasonCredentialsInvalid, "spec.https.caBundle has no certificate in PEM: add the certificate of the authority")
		}
		base.TLSClientConfig.RootCAs = pool
	}
	return &http.Client{
		Transport:     budgetTransport{base, budget},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// target is the address that a response redirects to, without its query, which may be secret.
func target(response *http.Response) string {
	location, err := response.Location()
	if err != nil {
		return "no address"
	}
	location.RawQuery, location.Fragment = "", ""
	return location.Redacted()
}

// describeHTTPS is describe with the remedies of a pinned authority.
func describeHTTPS(err error, request Request, budget *budget) error {
	var (
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		hostname  x509.HostnameError
	)
	switch address := addressOf(request); {
	case errors.As(err, &authority):
		return refuse(ReasonCertificateRefused, "%s has a certificate of an authority that is not trusted: set spec.https.caBundle to the certificate of the authority", address)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return refuse(ReasonCertificateRefused, "%s has a certificate that has expired or is not valid yet: renew the certificate of the server", address)
	case errors.As(err, &invalid), errors.As(err, &hostname):
		return refuse(ReasonCertificateRefused, "%s has a certificate that is not valid for it (%v): correct the certificate of the server", address, errors.Unwrap(err))
	}
	return describe(err, request, budget)
}

// verifyDetached returns which trusted key has signed data.
func verifyDetached(ctx context.Context, request Request, text []byte) (string, error) {
	keys, err := readCosignKeys(request.Keys)
	if err != nil {
		return "", err
	}
	address, err := signatureURL(request.HTTPS)
	if err != nil {
		return "", err
	}
	if other, err := url.Parse(address); err != nil || other.Host != hostOf(request.HTTPS.URL) {
		request.Credentials = nil // they are for the server of the data
	}
	encoded, err := readURL(ctx, request, address, maxSignatureBytes)
	if failure, ok := errors.AsType[*Error](err); ok && failure.Reason == ReasonNotFound {
		return "", refuse(ReasonVerificationFailed, "%s is not signed: there is no signature at %s; sign it with cosign sign-blob --key, and publish the signature there", addressOf(request), withoutQuery(address))
	}
	if err != nil {
		return "", err
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(encoded)))
	if err != nil || len(signature) == 0 {
		return "", refuse(ReasonVerificationFailed, "the signature of %s is not in base64: publish the output of cosign sign-blob", addressOf(request))
	}
	i := slices.IndexFunc(keys, func(k cosignKey) bool { return hasSigned(k.key, text, signature) })
	if i < 0 {
		return "", refuse(ReasonVerificationFailed, "%s is not signed by a trusted key: none of the keys fits its signature", addressOf(request))
	}
	return "the data is signed by " + keys[i].name, nil
}

func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}

// withoutQuery is an address for messages: its query may be secret.
func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// signatureURL is the address of the signature.
func signatureURL(from *v1alpha1.HTTPSOrigin) (string, error) {
	if from.Verify.SignatureURL != "" {
		return from.Verify.SignatureURL, nil
	}
	parsed, err := url.Parse(from.URL)
	if err != nil {
		return "", refuse(ReasonFetchFailed, "spec.https.url is not a valid URL: correct it")
	}
	parsed.Path, parsed.RawPath = cmp.Or(parsed.Path, "/")+signatureSuffix, ""
	return parsed.String(), nil
}
