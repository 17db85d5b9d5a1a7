package openzro

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

func ozkey(name string, spec v1.OZSetupKeySpec) *v1.OZSetupKey {
	return &v1.OZSetupKey{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// intoSecret has a key be stored in Secret enrol, under key.
func intoSecret() v1.OZSetupKeySpec {
	return v1.OZSetupKeySpec{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "enrol"}, Key: "key"}}
}

// stored is the value of a Secret of the team: "" where there is none.
func (s *site) stored(name, key string) string {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	if s.isGone(secret) {
		return ""
	}
	return string(secret.Data[key])
}

func (s *site) put(name, key, value string) {
	s.t.Helper()
	require.NoError(s.t, s.client.Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}, Data: map[string][]byte{key: []byte(value), "other": []byte("x")},
	}))
}

// TestAKeyIsMade and stored, with all that the object says of it.
func TestAKeyIsMade(t *testing.T) {
	s := newSite(t)
	spec := v1.OZSetupKeySpec{AutoGroups: []string{"Developers"}, Ephemeral: new(true), ExpiresIn: "30d", UsageLimit: 5, AllowExtraDNSLabels: new(true)}
	enrol := ozkey("laptops", spec)
	s.apply(enrol)
	s.settle()
	s.requireReason(enrol, v1.ReasonGroupNotFound, "Developers")
	s.apply(ozgroup("dev", "Developers"))
	s.settle()
	s.requireReconciled(enrol)
	text := s.stored("laptops-key", "setupKey")
	require.True(t, isKey(text))
	made := s.account.SetupKeys()
	require.Len(t, made, 1)
	require.Equal(t, "laptops", made[0].Name)
	require.True(t, made[0].Ephemeral && made[0].AllowExtraDNSLabels, "Z16")
	require.Equal(t, 5, made[0].UsageLimit)
	require.Equal(t, "reusable", made[0].Type)
	require.Equal(t, v1.KeyStateValid, enrol.Status.State)
	require.NotNil(t, enrol.Status.Expires)
	_, err := s.account.Enrol(text, "laptop")
	require.NoError(t, err)
	require.Len(t, s.groupNamed("Developers").Peers, 1)
	require.NotContains(t, s.told()+s.ready(enrol).Message, text)
	s.atRest()
	s.restart()
	s.settle()
	s.look()
	require.Zero(t, s.server.Writes(openzro.Call{}), "Z15: it is known again by the Secret")

	s.delete(enrol)
	s.settle()
	require.True(t, s.isGone(enrol))
	require.Empty(t, s.account.SetupKeys())
}

// TestAKeyIntoASecretThatIsThere leaves all else in it, and takes out what it put in.
func TestAKeyIntoASecretThatIsThere(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.settle()
	s.requireReconciled(enrol)
	require.True(t, isKey(s.stored("enrol", "key")))
	require.Equal(t, "x", s.stored("enrol", "other"))
	s.delete(enrol)
	s.settle()
	require.Empty(t, s.stored("enrol", "key"))
	require.Equal(t, "x", s.stored("enrol", "other"))
	require.Empty(t, s.account.SetupKeys())
}

// TestAKeyThatCannotBeStored is Z15: none is made where the Secret cannot be written, and
// one that cannot be stored is deleted.
func TestAKeyThatCannotBeStored(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.broken = errors.New("the quota is used up")
	require.ErrorContains(t, s.once(), "the quota is used up")
	s.requireReason(enrol, v1.ReasonAPIError, "the quota is used up") // Z8, Z9: what fails is told, and tried again
	require.Zero(t, s.server.Writes(openzro.Call{}))
	s.broken = nil
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 1, openzro.After(func() { s.broken = errors.New("the API server is gone") }))
	require.ErrorContains(t, s.once(), "the API server is gone")
	require.Empty(t, s.account.SetupKeys())
	s.broken = nil
	s.settle()
	s.requireReconciled(enrol)
	require.Len(t, s.account.SetupKeys(), 1)
}

// TestAKeyThatNobodyKnows: the manager died, or the answer got lost, before it was stored.
func TestAKeyThatNobodyKnows(t *testing.T) {
	s := newSite(t)
	_, err := s.other(s.account.Token).SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "laptops", Type: "reusable", AutoGroups: []string{}})
	require.NoError(t, err)
	theirs := s.account.SetupKeys()[0].ID
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 1, openzro.LoseAnswer())
	enrol := ozkey("laptops", v1.OZSetupKeySpec{})
	s.apply(enrol)
	require.NoError(t, s.once())
	require.Len(t, s.account.SetupKeys(), 2)
	lost := s.account.SetupKeys()[1].ID
	s.restart()
	s.settle()
	s.requireReconciled(enrol)
	ids := names(s.account.SetupKeys(), func(k openzro.SetupKey) string { return k.ID })
	require.Len(t, ids, 2)
	require.Contains(t, ids, theirs, "what others have made stays")
	require.NotContains(t, ids, lost)
}

// TestAKeyThatIsThere is used as it is, by the Secret that its owner wrote.
func TestAKeyThatIsThere(t *testing.T) {
	s := newSite(t)
	other := s.other(s.account.Token)
	theirs, err := other.SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "theirs", Type: "reusable", AutoGroups: []string{}})
	require.NoError(t, err)
	s.put("enrol", "key", theirs.Key+"\n")
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.settle()
	s.requireReconciled(enrol)
	require.True(t, enrol.Status.Adopted)
	require.Equal(t, theirs.ID, enrol.Status.SetupKeyID)
	_, err = other.SetupKeys.Update(t.Context(), theirs.ID, management.SetupKeyUpdate{AutoGroups: []string{}, Revoked: true})
	require.NoError(t, err)
	s.look()
	s.requireReason(enrol, v1.ReasonInvalidSetupKey, "revoked", "spec.replaceWhen")
	s.delete(enrol)
	s.settle()
	require.Len(t, s.account.SetupKeys(), 1)
	require.Equal(t, theirs.Key, strings.TrimSpace(s.stored("enrol", "key")))
}

// TestWhatIsNoKey is Z15, too: what is shorter than a key's beginning is no reason to panic.
func TestWhatIsNoKey(t *testing.T) {
	s := newSite(t)
	for value, words := range map[string]string{"abc": "is no setup key", "B2C7B3E0-8B6B-4B6D-9D6B-3F0C9B7B1A11": "has no setup key such as"} {
		s.put("enrol", "key", value)
		enrol := ozkey("laptops", intoSecret())
		s.apply(enrol)
		s.settle()
		s.requireReason(enrol, v1.ReasonInvalidSetupKey, words)
		require.NotContains(t, s.ready(enrol).Message, value)
		s.delete(enrol)
		s.settle()
		s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "enrol"}})
	}
	require.Zero(t, s.server.Writes(openzro.Call{}))
}

// TestSpentKeys are replaced where the object asks for it, and nowhere else.
func TestSpentKeys(t *testing.T) {
	s := newSite(t)
	kept, replaced := ozkey("kept", v1.OZSetupKeySpec{}), ozkey("replaced", v1.OZSetupKeySpec{ReplaceWhen: []v1.Replacement{v1.ReplaceRevoked}})
	s.apply(kept, replaced)
	s.settle()
	before := s.stored("replaced-key", "setupKey")
	other := s.other(s.account.Token)
	for _, one := range s.account.SetupKeys() {
		_, err := other.SetupKeys.Update(t.Context(), one.ID, management.SetupKeyUpdate{AutoGroups: []string{}, Revoked: true})
		require.NoError(t, err)
	}
	s.look()
	s.settle()
	s.requireReason(kept, v1.ReasonInvalidSetupKey, "revoked", "put Revoked into spec.replaceWhen")
	s.requireReconciled(replaced)
	require.NotEqual(t, before, s.stored("replaced-key", "setupKey"))
	require.Len(t, s.account.SetupKeys(), 2, "the old one is gone")

	kept.Spec.ReplaceWhen = []v1.Replacement{v1.ReplaceRevoked}
	s.apply(kept)
	s.settle()
	s.requireReconciled(kept)
	require.NoError(t, other.SetupKeys.Delete(t.Context(), get(s, kept).Status.SetupKeyID))
	before = s.stored("kept-key", "setupKey")
	s.look()
	s.requireReconciled(kept)
	require.NotEqual(t, before, s.stored("kept-key", "setupKey"), "a key that vanished enrols nobody")
}

// TestGroupsOfAKey can be changed.
func TestGroupsOfAKey(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	enrol := ozkey("laptops", v1.OZSetupKeySpec{AutoGroups: []string{"Developers"}})
	s.apply(enrol)
	s.settle()
	before := s.stored("laptops-key", "setupKey")
	enrol.Spec.AutoGroups = []string{"Servers", "Developers"}
	s.apply(enrol)
	s.settle()
	require.Len(t, s.account.SetupKeys()[0].AutoGroups, 2)
	require.Equal(t, before, s.stored("laptops-key", "setupKey"))
	s.atRest()
}

// TestAKeyWithoutAccess: that a Secret holds one is all that is asked, as before.
func TestAKeyWithoutAccess(t *testing.T) {
	s := newSite(t)
	s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1.APIKeySecret}})
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.settle()
	s.requireReason(enrol, v1.ReasonSecretNotExists, "Secret enrol does not exist")
	s.put("enrol", "unrelated", "y")
	s.settle()
	s.requireReason(enrol, v1.ReasonSecretKeyNotExists, "has no key key")
	s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "enrol"}})
	s.put("enrol", "key", "B2C7B3E0-8B6B-4B6D-9D6B-3F0C9B7B1A11")
	s.settle()
	s.requireReconciled(enrol)
	require.Empty(t, s.server.Calls())
}

// TestASecretThatIsDeletedOrEdited: a new key takes the place of the lost one, and a key
// that somebody puts there is theirs.
func TestASecretThatIsDeletedOrEdited(t *testing.T) {
	s := newSite(t)
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.settle()
	before := get(s, enrol).Status.SetupKeyID
	s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "enrol"}})
	s.settle()
	s.requireReconciled(enrol)
	require.NotEqual(t, before, enrol.Status.SetupKeyID)
	require.Len(t, s.account.SetupKeys(), 1)

	theirs, err := s.other(s.account.Token).SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "theirs", Type: "reusable", AutoGroups: []string{}})
	require.NoError(t, err)
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}})
	secret.Data["key"] = []byte(theirs.Key)
	require.NoError(t, s.client.Update(t.Context(), secret))
	s.look()
	s.settle()
	s.requireReconciled(enrol)
	require.Equal(t, theirs.ID, enrol.Status.SetupKeyID)
	s.delete(enrol)
	s.settle()
	require.Equal(t, []string{theirs.ID}, names(s.account.SetupKeys(), func(k openzro.SetupKey) string { return k.ID }))
}
