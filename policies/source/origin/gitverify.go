package origin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	openpgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// sshNamespace is what Git signs for, so that a signature made for something else is
// none for a commit.
const sshNamespace = "git"

// trustedKeys are the keys of a Secret.
type trustedKeys struct {
	pgp openpgp.EntityList
	ssh []sshKey
}

// sshKey is a line of an allowed signers file.
type sshKey struct {
	key           ssh.PublicKey
	name          string
	namespaces    []string
	after, before time.Time // zero: no bound
}

// verifyGit checks the signatures that are asked for, and says whose they are. The tag
// is nil where the ref is none, or one without a message.
func verifyGit(origin *v1alpha1.GitOrigin, tag *object.Tag, commit *object.Commit, keys map[string][]byte) (string, error) {
	trusted, err := readKeys(keys)
	if err != nil {
		return "", err
	}
	var signatures []string
	if mode := origin.Verify.Mode; mode == v1alpha1.GitVerificationTag || mode == v1alpha1.GitVerificationTagAndHEAD {
		switch {
		case origin.Ref.Tag == "":
			return "", refuse(ReasonVerificationFailed, "spec.git.verify.mode is %s, but spec.git.ref names no tag: name one, or verify HEAD", mode)
		case tag == nil:
			return "", refuse(ReasonVerificationFailed, "tag %s is a lightweight tag, which holds no signature: sign it with git tag -s", origin.Ref.Tag)
		case tag.Name != origin.Ref.Tag:
			return "", refuse(ReasonVerificationFailed, "the tag object of %s says that it is tag %s: the signature may have been moved; tag and sign again", origin.Ref.Tag, tag.Name)
		}
		signer, err := trusted.verify("tag "+tag.Name, tag.PGPSignature, tag)
		if err != nil {
			return "", err
		}
		signatures = append(signatures, fmt.Sprintf("tag %s is signed by %s", tag.Name, signer))
	}
	if origin.Verify.Mode != v1alpha1.GitVerificationTag {
		signer, err := trusted.verify("commit "+commit.Hash.String(), commit.PGPSignature, commit)
		if err != nil {
			return "", err
		}
		signatures = append(signatures, fmt.Sprintf("commit %s is signed by %s", commit.Hash, signer))
	}
	return strings.Join(signatures, "; "), nil
}

// readKeys distinguishes OpenPGP keys from SSH keys by their first line.
func readKeys(entries map[string][]byte) (*trustedKeys, error) {
	trusted := &trustedKeys{}
	for name, text := range entries {
		if bytes.Contains(text, []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")) {
			keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
			if err != nil {
				return nil, refuse(ReasonCredentialsInvalid, "entry %s of the Secret with keys is not an OpenPGP key: %v", name, err)
			}
			trusted.pgp = append(trusted.pgp, keys...)
			continue
		}
		keys, err := readSignersFile(name, text)
		if err != nil {
			return nil, err
		}
		trusted.ssh = append(trusted.ssh, keys...)
	}
	if len(trusted.pgp)+len(trusted.ssh) == 0 {
		return nil, refuse(ReasonCredentialsInvalid, "the Secret that verify.secretRef names has no key: add an entry with an armoured OpenPGP public key, or with SSH public keys")
	}
	return trusted, nil
}

// readSignersFile reads lines as ssh-keygen(1) describes them under ALLOWED
// SIGNERS; a public key alone is one, too.
func readSignersFile(entry string, text []byte) ([]sshKey, error) {
	var keys []sshKey
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := readAllowedSigner(line)
		if err != nil {
			return nil, refuse(ReasonCredentialsInvalid, "entry %s, line %d, of the Secret with keys is neither an SSH public key nor a line of an allowed signers file: %v", entry, number, err)
		}
		keys = append(keys, key)
	}
	if err := lines.Err(); err != nil {
		return nil, refuse(ReasonCredentialsInvalid, "entry %s of the Secret with keys: %v", entry, err)
	}
	return keys, nil
}

func readAllowedSigner(line string) (sshKey, error) {
	if public, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line)); err == nil && len(options) == 0 {
		return sshKey{key: public, name: comment}, nil
	}
	principals, rest, ok := strings.Cut(line, " ")
	if !ok {
		return sshKey{}, errors.New("it has one word")
	}
	public, _, options, _, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(rest)))
	if err != nil {
		return sshKey{}, err
	}
	key := sshKey{key: public, name: strings.Trim(principals, `"`)}
	for _, option := range options {
		if err := key.restrict(option); err != nil {
			return sshKey{}, err
		}
	}
	return key, nil
}

// restrict reads an option. One that is not understood might have narrowed the trust.
func (k *sshKey) restrict(option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	value = strings.Trim(value, `"`)
	switch strings.ToLower(name) {
	case "namespaces":
		k.namespaces = strings.Split(value, ",")
	case "valid-after":
		k.after, err = readSSHTime(value)
	case "valid-before":
		k.before, err = readSSHTime(value)
	default:
		return fmt.Errorf("the option %s is not supported", name)
	}
	return err
}

// readSSHTime reads YYYYMMDD[Z] and YYYYMMDDHHMM[SS][Z]; without Z it is local time.
func readSSHTime(text string) (time.Time, error) {
	digits, isUTC := strings.CutSuffix(text, "Z")
	zone := time.Local
	if isUTC {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if at, err := time.ParseInLocation(layout, digits, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 20270131Z", text)
}

// signed is a commit or a tag.
type signed interface {
	EncodeWithoutSignature(plumbing.EncodedObject) error
}

// verify says who signed an object.
func (t *trustedKeys) verify(what, signature string, object signed) (string, error) {
	if strings.TrimSpace(signature) == "" {
		return "", refuse(ReasonVerificationFailed, "%s is not signed: sign it with one of the trusted keys", what)
	}
	if strings.Count(signature, "-----BEGIN ") != 1 {
		return "", refuse(ReasonVerificationFailed, "%s has more than one signature: sign it once", what)
	}
	encoded := &plumbing.MemoryObject{}
	if err := object.EncodeWithoutSignature(encoded); err != nil {
		return "", refuse(ReasonVerificationFailed, "reading the signed content of %s: %v", what, err)
	}
	reader, err := encoded.Reader()
	if err != nil {
		return "", refuse(ReasonVerificationFailed, "reading the signed content of %s: %v", what, err)
	}
	defer reader.Close()
	switch {
	case strings.HasPrefix(signature, "-----BEGIN SSH SIGNATURE-----"):
		return t.verifySSH(what, signature, reader, time.Now())
	case strings.HasPrefix(signature, "-----BEGIN PGP "):
		return t.verifyPGP(what, signature, reader)
	}
	return "", refuse(ReasonVerificationFailed, "%s has a signature that is neither OpenPGP nor SSH: sign it with one of the trusted keys", what)
}

func (t *trustedKeys) verifySSH(what, text string, content io.Reader, now time.Time) (string, error) {
	signature, err := sshsig.Unarmor([]byte(text))
	if err != nil {
		return "", refuse(ReasonVerificationFailed, "the SSH signature of %s cannot be read: %v", what, err)
	}
	fingerprint := ssh.FingerprintSHA256(signature.PublicKey)
	i := slices.IndexFunc(t.ssh, func(k sshKey) bool { return bytes.Equal(k.key.Marshal(), signature.PublicKey.Marshal()) })
	if i < 0 {
		return "", refuse(ReasonVerificationFailed, "%s is signed by the SSH key %s, which is not trusted: sign it with a trusted key, or add this one to the Secret", what, fingerprint)
	}
	key := t.ssh[i]
	if err := key.permits(now); err != nil {
		return "", refuse(ReasonVerificationFailed, "%s is signed by the SSH key %s, %v", what, fingerprint, err)
	}
	if err := sshsig.Verify(content, signature, key.key, signature.HashAlgorithm, sshNamespace); err != nil {
		return "", refuse(ReasonVerificationFailed, "the SSH signature of %s is wrong (%v): it signs other content, or the content was changed", what, err)
	}
	return strings.TrimSpace(fmt.Sprintf("SSH key %s %s", fingerprint, key.name)), nil
}

func (k sshKey) permits(now time.Time) error {
	switch {
	case len(k.namespaces) > 0 && !slices.Contains(k.namespaces, sshNamespace):
		return fmt.Errorf("which the Secret trusts for %s alone, not for git", strings.Join(k.namespaces, ", "))
	case !k.before.IsZero() && !now.Before(k.before):
		return fmt.Errorf("which has expired (valid-before %s): sign with a key that is valid", k.before.UTC().Format(time.RFC3339))
	case !k.after.IsZero() && now.Before(k.after):
		return fmt.Errorf("which is not valid yet (valid-after %s)", k.after.UTC().Format(time.RFC3339))
	}
	return nil
}

func (t *trustedKeys) verifyPGP(what, signature string, content io.Reader) (string, error) {
	signer, err := openpgp.CheckArmoredDetachedSignature(t.pgp, content, strings.NewReader(signature), nil)
	switch {
	case errors.Is(err, openpgperrors.ErrUnknownIssuer):
		return "", refuse(ReasonVerificationFailed, "%s is signed by an OpenPGP key that is not trusted: sign it with a trusted key, or add this one to the Secret", what)
	case errors.Is(err, openpgperrors.ErrKeyExpired):
		return "", refuse(ReasonVerificationFailed, "%s is signed by an OpenPGP key that has expired: sign it with a key that is valid", what)
	case errors.Is(err, openpgperrors.ErrKeyRevoked):
		return "", refuse(ReasonVerificationFailed, "%s is signed by an OpenPGP key that was revoked: sign it with a key that is valid", what)
	case errors.Is(err, openpgperrors.ErrSignatureExpired):
		return "", refuse(ReasonVerificationFailed, "the OpenPGP signature of %s has expired: sign it again", what)
	case err != nil:
		return "", refuse(ReasonVerificationFailed, "the OpenPGP signature of %s is wrong (%v): the content was changed after it was signed", what, err)
	}
	return fmt.Sprintf("OpenPGP key %X", signer.PrimaryKey.Fingerprint), nil
}
