package origin

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// sshKeyFile makes a key with ssh-keygen and returns the file and the public key.
func sshKeyFile(t *testing.T, name string) (file, public string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	output, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput()
	require.NoError(t, err, string(output))
	text, err := os.ReadFile(file + ".pub")
	require.NoError(t, err)
	return file, string(text)
}

// signWith configures git to sign with an SSH key.
func (r *repository) signWith(file string) {
	r.t.Helper()
	r.git("config", "gpg.format", "ssh")
	r.git("config", "user.signingKey", file)
}

func (r *repository) verify(ref v1alpha1.GitRef, mode v1alpha1.GitVerificationMode, keys map[string]string) (*Answer, error) {
	request := withLimits(Request{
		Git:  &v1alpha1.GitOrigin{URL: "file://" + r.Bare, Ref: ref, Verify: &v1alpha1.GitVerification{Mode: mode}},
		Keys: secretData(keys),
	})
	return fetch(r.t.Context(), request)
}

func TestSSHSignatures(t *testing.T) {
	ada, adaPublic := sshKeyFile(t, "ada")
	eve, evePublic := sshKeyFile(t, "eve")
	for name, c := range map[string]struct {
		key     string // that signs
		keys    string // that are trusted
		message string
	}{
		"a public key":             {ada, adaPublic, ""},
		"one of several keys":      {ada, "# keys\n\n" + evePublic + adaPublic, ""},
		"an allowed signers line":  {ada, "ada@example.com " + adaPublic, ""},
		"one for Git":              {ada, `ada@example.com namespaces="file,git" ` + adaPublic, ""},
		"one for something else":   {ada, `ada@example.com namespaces="file" ` + adaPublic, "trusts for file alone"},
		"one that is valid":        {ada, `ada@example.com valid-after="20200101Z",valid-before="29990101Z" ` + adaPublic, ""},
		"one that has expired":     {ada, `ada@example.com valid-before="20200101Z" ` + adaPublic, "has expired"},
		"one that is not yet":      {ada, `ada@example.com valid-after="29990101Z" ` + adaPublic, "not valid yet"},
		"a certificate authority":  {ada, `*@example.com cert-authority ` + adaPublic, "cert-authority is not supported"},
		"a key that is not":        {eve, adaPublic, "which is not trusted"},
		"no signature":             {"", adaPublic, "is not signed"},
		"no key":                   {ada, "\n", "has no key"},
		"something that is no key": {ada, "hello world", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, nil)
			signing := "--no-gpg-sign"
			if c.key != "" {
				r.signWith(c.key)
				signing = "-S"
			}
			hash := r.push(map[string]string{"a.rego": module}, signing)
			got, err := r.verify(v1alpha1.GitRef{}, v1alpha1.GitVerificationHEAD, map[string]string{"ada": c.keys})
			if c.message == "" {
				require.NoError(t, err)
				require.Contains(t, got.Signature, "commit "+hash+" is signed by SSH key SHA256:")
				require.NotEmpty(t, got.Files)
				return
			}
			require.ErrorContains(t, err, c.message)
			require.Nil(t, got)
		})
	}
}

// TestChangedCommits moves a valid signature to content that was not signed.
func TestChangedCommits(t *testing.T) {
	file, public := sshKeyFile(t, "ada")
	r := newRepository(t, nil)
	r.signWith(file)
	r.push(map[string]string{"a.rego": module}, "-S")
	signed := r.git("cat-file", "commit", "HEAD") + "\n"
	r.push(map[string]string{"a.rego": module + "# evil\n"}, "-S")
	evilTree := r.git("rev-parse", "HEAD^{tree}")
	trusted := map[string]string{"ada": public}
	pushRaw := func(text string) {
		commit := r.hashObject("commit", text)
		r.git("push", "--quiet", "--force", "origin", commit+":refs/heads/main")
	}
	t.Run("as it was signed", func(t *testing.T) {
		pushRaw(signed)
		_, err := r.verify(v1alpha1.GitRef{}, "", trusted)
		require.NoError(t, err)
	})
	t.Run("another tree", func(t *testing.T) {
		pushRaw("tree " + evilTree + signed[strings.Index(signed, "\n"):])
		_, err := r.verify(v1alpha1.GitRef{}, "", trusted)
		requireRefused(t, err, ReasonVerificationFailed, "is wrong")
	})
	t.Run("another message", func(t *testing.T) {
		pushRaw(signed + "More.\n")
		_, err := r.verify(v1alpha1.GitRef{}, "", trusted)
		requireRefused(t, err, ReasonVerificationFailed, "is wrong")
	})
	t.Run("another tree beside the signed one", func(t *testing.T) {
		pushRaw("tree " + evilTree + "\n" + signed)
		_, err := r.verify(v1alpha1.GitRef{}, "", trusted)
		var refused *Error
		require.ErrorAs(t, err, &refused)
	})
	t.Run("a broken signature", func(t *testing.T) {
		pushRaw(strings.Replace(signed, "-----BEGIN SSH SIGNATURE-----\n ", "-----BEGIN SSH SIGNATURE-----\n AAAA", 1))
		_, err := r.verify(v1alpha1.GitRef{}, "", trusted)
		requireRefused(t, err, ReasonVerificationFailed, "cannot be read")
	})
	t.Run("for a file", func(t *testing.T) {
		unsigned := withoutSignature(signed)
		pushRaw(withSignature(unsigned, r.sshSign(file, "file", unsigned)))
		_, err := r.verify(v1alpha1.GitRef{}, "", trusted)
		requireRefused(t, err, ReasonVerificationFailed, "is wrong")
	})
}

func (r *repository) hashObject(kind, text string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", "hash-object", "-t", kind, "-w", "--stdin", "--literally")
	command.Dir, command.Stdin = r.Work, strings.NewReader(text)
	out, err := command.Output()
	require.NoError(r.t, err)
	return strings.TrimSpace(string(out))
}

// sshSign signs with ssh-keygen for a namespace.
func (r *repository) sshSign(file, namespace, text string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", file)
	command.Stdin = strings.NewReader(text)
	out, err := command.Output()
	require.NoError(r.t, err)
	return string(out)
}

// withoutSignature is a commit without its header gpgsig.
func withoutSignature(commit string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(commit) {
		inside = strings.HasPrefix(line, "gpgsig ") || inside && strings.HasPrefix(line, " ")
		if !inside {
			out.WriteString(line)
		}
	}
	return out.String()
}

func withSignature(commit, signature string) string {
	header := "gpgsig " + strings.ReplaceAll(strings.TrimSpace(signature), "\n", "\n ") + "\n"
	head, message, _ := strings.Cut(commit, "\n\n")
	return head + "\n" + header + "\n" + message
}

func TestTagSignatures(t *testing.T) {
	file, public := sshKeyFile(t, "ada")
	trusted := map[string]string{"ada": public}
	r := newRepository(t, nil)
	r.signWith(file)
	r.push(map[string]string{"a.rego": module})
	r.git("tag", "light")
	r.git("tag", "--annotate", "--message=One", "plain")
	r.git("tag", "--sign", "--message=One", "signed")
	moved := r.git("rev-parse", "signed")
	r.git("push", "--quiet", "origin", "light", "plain", "signed", moved+":refs/tags/moved")
	r.push(map[string]string{"b.rego": module}, "-S")
	r.git("tag", "--sign", "--message=Two", "both")
	r.git("push", "--quiet", "origin", "both")
	for name, c := range map[string]struct {
		ref     v1alpha1.GitRef
		mode    v1alpha1.GitVerificationMode
		message string
	}{
		"signed":                     {v1alpha1.GitRef{Tag: "signed"}, v1alpha1.GitVerificationTag, ""},
		"both":                       {v1alpha1.GitRef{Tag: "both"}, v1alpha1.GitVerificationTagAndHEAD, ""},
		"the tag alone, both wanted": {v1alpha1.GitRef{Tag: "signed"}, v1alpha1.GitVerificationTagAndHEAD, "is not signed"},
		"no signature":               {v1alpha1.GitRef{Tag: "plain"}, v1alpha1.GitVerificationTag, "tag plain is not signed"},
		"lightweight":                {v1alpha1.GitRef{Tag: "light"}, v1alpha1.GitVerificationTag, "lightweight tag"},
		"under another name":         {v1alpha1.GitRef{Tag: "moved"}, v1alpha1.GitVerificationTag, "says that it is tag signed"},
		"no tag":                     {v1alpha1.GitRef{Branch: "main"}, v1alpha1.GitVerificationTag, "names no tag"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.verify(c.ref, c.mode, trusted)
			if c.message == "" {
				require.NoError(t, err)
				require.Contains(t, got.Signature, "tag "+c.ref.Tag+" is signed by SSH key")
				return
			}
			requireRefused(t, err, ReasonVerificationFailed, c.message)
		})
	}
}

func TestPGPSignatures(t *testing.T) {
	now := time.Now()
	newKey := func(config *packet.Config) *openpgp.Entity {
		entity, err := openpgp.NewEntity("ada", "", "ada@example.com", config)
		require.NoError(t, err)
		return entity
	}
	ada, eve := newKey(nil), newKey(nil)
	hourAgo := func() time.Time { return now.Add(-time.Hour) }
	expired := newKey(&packet.Config{Time: hourAgo, KeyLifetimeSecs: 60})
	revoked := newKey(nil)
	for name, c := range map[string]struct {
		signer, trusted *openpgp.Entity
		config          *packet.Config
		revoke          bool
		change          func(string) string
		message         string
	}{
		"trusted":   {signer: ada, trusted: ada},
		"another":   {signer: eve, trusted: ada, message: "OpenPGP key that is not trusted"},
		"expired":   {signer: expired, trusted: expired, config: &packet.Config{Time: hourAgo}, message: "key that has expired"},
		"revoked":   {signer: revoked, trusted: revoked, revoke: true, message: "key that was revoked"},
		"changed":   {signer: ada, trusted: ada, change: func(text string) string { return text + "More.\n" }, message: "is wrong"},
		"its age":   {signer: ada, trusted: ada, config: &packet.Config{Time: hourAgo, SigLifetimeSecs: 60}, message: "expired"},
		"of no key": {signer: ada, trusted: nil, message: "is not an OpenPGP key"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, nil)
			r.push(map[string]string{"a.rego": module})
			unsigned := r.git("cat-file", "commit", "HEAD") + "\n"
			var signature bytes.Buffer
			config := c.config
			if name == "its age" { // a key as old as the signature
				c.signer = newKey(&packet.Config{Time: hourAgo})
				c.trusted = c.signer
			}
			require.NoError(t, openpgp.ArmoredDetachSign(&signature, c.signer, strings.NewReader(unsigned), config))
			text := withSignature(unsigned, signature.String())
			if c.change != nil {
				text = c.change(text)
			}
			if c.revoke {
				require.NoError(t, c.signer.RevokeKey(packet.KeyCompromised, "stolen", nil))
			}
			r.git("push", "--quiet", "--force", "origin", r.hashObject("commit", text)+":refs/heads/main")
			got, err := r.verify(v1alpha1.GitRef{}, "", map[string]string{"key.asc": armoured(t, c.trusted)})
			if c.message == "" {
				require.NoError(t, err)
				require.Contains(t, got.Signature, "is signed by OpenPGP key")
				return
			}
			require.ErrorContains(t, err, c.message)
			require.Nil(t, got)
		})
	}
}

// armoured is a public key; of no key, something that only looks like one.
func armoured(t *testing.T, entity *openpgp.Entity) string {
	t.Helper()
	if entity == nil {
		return "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"
	}
	var out bytes.Buffer
	writer, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	require.NoError(t, err)
	require.NoError(t, entity.Serialize(writer))
	require.NoError(t, writer.Close())
	return out.String()
}

// TestTwoSignatures: a second one could be by anybody.
func TestTwoSignatures(t *testing.T) {
	const twice = "-----BEGIN PGP SIGNATURE-----\n-----END PGP SIGNATURE-----\n-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n"
	_, err := (&trustedKeys{}).verify("commit a", twice, &object.Commit{})
	requireRefused(t, err, ReasonVerificationFailed, "commit a has more than one signature")
}
