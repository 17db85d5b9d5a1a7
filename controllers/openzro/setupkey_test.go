package openzro

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
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

// intoSecret stores a key in Secret enrol, under key.
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
	s.reconcile(enrol)
	s.requireReason(enrol, v1.ReasonGroupNotFound, "Developers")
	s.reconcile(ozgroup("dev", "Developers"))
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
	require.NotContains(t, s.reported()+s.ready(enrol).Message, text)
	s.atRest()
	s.restart()
	s.settle()
	s.look()
	require.Zero(t, s.server.Writes(openzro.Call{}), "Z15: it is known again by the Secret")

	s.requireDeletion(enrol)
	require.Empty(t, s.account.SetupKeys())
}

// TestAKeyIntoASecretThatIsThere checks that all other data stays, and that the key is removed
// in the end.
func TestAKeyIntoASecretThatIsThere(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	enrol := ozkey("laptops", intoSecret())
	s.reconcile(enrol)
	s.requireReconciled(enrol)
	require.True(t, isKey(s.stored("enrol", "key")))
	require.Equal(t, "x", s.stored("enrol", "other"))
	s.delete(enrol)
	s.settle()
	require.Empty(t, s.stored("enrol", "key"))
	require.Equal(t, "x", s.stored("enrol", "other"))
	require.Empty(t, s.account.SetupKeys())
}

// TestAKeyThatCannotBeStored is Z15: no key is created where the Secret cannot be written, and
// one that cannot be stored is deleted.
func TestAKeyThatCannotBeStored(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.broken = errors.New("the quota is used up")
	require.ErrorContains(t, s.once(), "the quota is used up")
	s.requireReason(enrol, v1.ReasonAPIError, "the quota is used up") // Z8, Z9: a failure is reported and retried
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
	s.reconcile(enrol)
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

// TestWhatIsNoKey is Z15, too: a value shorter than the prefix of a key does not cause a panic.
func TestWhatIsNoKey(t *testing.T) {
	s := newSite(t)
	for value, words := range map[string]string{"abc": "is not a setup key", "B2C7B3E0-8B6B-4B6D-9D6B-3F0C9B7B1A11": "does not have the setup key in key"} {
		s.put("enrol", "key", value)
		enrol := ozkey("laptops", intoSecret())
		s.reconcile(enrol)
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
	s.reconcile(kept, replaced)
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
	s.reconcile(kept)
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
	s.reconcile(enrol)
	before := s.stored("laptops-key", "setupKey")
	enrol.Spec.AutoGroups = []string{"Servers", "Developers"}
	s.reconcile(enrol)
	require.Len(t, s.account.SetupKeys()[0].AutoGroups, 2)
	require.Equal(t, before, s.stored("laptops-key", "setupKey"))
	s.atRest()
}

// TestAKeyWithoutAccess: that a Secret holds one is all that is asked, as before.
func TestAKeyWithoutAccess(t *testing.T) {
	s := newSite(t)
	s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1.APIKeySecret}})
	enrol := ozkey("laptops", intoSecret())
	s.reconcile(enrol)
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

// TestASecretThatIsDeletedOrEdited checks that a new key replaces the lost one, and that a
// user's key is left alone.
func TestASecretThatIsDeletedOrEdited(t *testing.T) {
	s := newSite(t)
	enrol := ozkey("laptops", intoSecret())
	s.reconcile(enrol)
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

// bystander creates a foreign, unused key.
func (s *site) bystander(name string) (id string) {
	s.t.Helper()
	theirs, err := s.other(s.account.Token).SetupKeys.Create(s.t.Context(), management.SetupKeyRequest{Name: name, Type: "reusable", AutoGroups: []string{}})
	require.NoError(s.t, err)
	return theirs.ID
}

func (s *site) keyIDs() []string {
	return names(s.account.SetupKeys(), func(k openzro.SetupKey) string { return k.ID })
}

// TestNotesOfASecretAreNotBelieved checks that a user who may write Secrets cannot delete the
// keys of others.
func TestNotesOfASecretAreNotBelieved(t *testing.T) {
	for name, note := range map[string]string{
		"as its own": keyIDAnnotation, "as one that was replaced": keyReplacedAnnotation, "as one that nobody knows": "openzro.io/setup-keys-before",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			theirs := s.bystander("laptops")
			s.put("enrol", "unrelated", "y")
			enrol := ozkey("laptops", intoSecret())
			s.apply(enrol)
			forge := func() {
				secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}})
				value := theirs
				if note == "openzro.io/setup-keys-before" {
					value = ""
				}
				secret.Annotations = map[string]string{keyForAnnotation: string(get(s, enrol).UID), note: value}
				require.NoError(t, s.client.Update(t.Context(), secret))
			}
			forge()
			s.settle()
			require.Contains(t, s.keyIDs(), theirs)
			forge()
			s.settle()
			require.Contains(t, s.keyIDs(), theirs)
			s.requireDeletion(enrol)
			require.Equal(t, []string{theirs}, s.keyIDs(), "what was made is gone, and nothing else")
		})
	}
}

// TestAForeignKeyIsNotReplaced checks that a key with the same prefix as the one in the Secret
// is not adopted.
func TestAForeignKeyIsNotReplaced(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	spec := intoSecret()
	spec.ReplaceWhen = []v1.Replacement{v1.ReplaceRevoked}
	enrol := ozkey("laptops", spec)
	s.reconcile(enrol)
	other := s.other(s.account.Token)
	theirs, err := other.SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "theirs", Type: "reusable", AutoGroups: []string{}})
	require.NoError(t, err)
	_, err = other.SetupKeys.Update(t.Context(), theirs.ID, management.SetupKeyUpdate{AutoGroups: []string{}, Revoked: true})
	require.NoError(t, err)
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}})
	secret.Data["key"] = []byte(theirs.Key)
	require.NoError(t, s.client.Update(t.Context(), secret))
	s.look()
	s.settle()
	s.requireReconciled(enrol)
	require.Contains(t, s.keyIDs(), theirs.ID)
	require.Len(t, s.keyIDs(), 2)
	s.delete(enrol)
	s.settle()
	require.Equal(t, []string{theirs.ID}, s.keyIDs())
}

// TestAForeignKeyStaysInItsSecret checks that it stays after the deletion of the object that
// created another key there.
func TestAForeignKeyStaysInItsSecret(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	enrol := ozkey("laptops", intoSecret())
	s.reconcile(enrol)
	theirs, err := s.other(s.account.Token).SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "theirs", Type: "reusable", AutoGroups: []string{}})
	require.NoError(t, err)
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}})
	secret.Data["key"] = []byte(theirs.Key)
	require.NoError(t, s.client.Update(t.Context(), secret))
	s.look()
	s.settle()
	s.delete(enrol)
	s.settle()
	require.Equal(t, []string{theirs.ID}, s.keyIDs())
	require.Equal(t, theirs.Key, s.stored("enrol", "key"))
}

// TestAKeyOfWhichOnlyItsSecretTells: the manager died before it wrote the status.
func TestAKeyOfWhichOnlyItsSecretTells(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	s.crash()
	require.NotEmpty(t, s.stored("enrol", "key"))
	s.settle()
	s.requireReconciled(enrol)
	require.False(t, enrol.Status.Adopted)
	require.Len(t, s.keyIDs(), 1)
	s.delete(enrol)
	s.settle()
	require.Empty(t, s.keyIDs())
	require.Empty(t, s.stored("enrol", "key"))
}

// TestAKeyInAnotherAccount: the namespace has another key to the server, or one of its own.
func TestAKeyInAnotherAccount(t *testing.T) {
	s := newSite(t)
	enrol, elsewhere := ozkey("laptops", v1.OZSetupKeySpec{}), in("late", ozkey("laptops", v1.OZSetupKeySpec{}))
	s.fallback(s.account.Token)
	s.reconcile(enrol, elsewhere)
	s.requireReconciled(enrol, elsewhere)
	second := s.server.AddAccount("umbrella")
	s.key(team, second.Token)
	s.key("late", second.Token)
	s.settle()
	s.requireReconciled(elsewhere)
	require.Len(t, s.keyIDs(), 1, "with the default key, which is still there, it was taken away")
	s.requireReason(enrol, v1.ReasonAccountChanged, s.account.ID, second.ID, s.keyIDs()[0])
	require.Len(t, second.SetupKeys(), 1)
	s.annotate([]v1.Object{enrol}, map[string]string{v1.AccountAnnotation: second.ID})
	s.settle()
	s.requireReconciled(enrol)
	require.Equal(t, []v1.LeftBehind{{Account: s.account.ID, Kind: kindSetupKey, ID: s.keyIDs()[0]}}, enrol.Status.LeftBehind)
	require.Len(t, second.SetupKeys(), 2)
	_, err := second.Enrol(s.stored("laptops-key", "setupKey"), "laptop")
	require.NoError(t, err)
	s.delete(enrol)
	s.delete(elsewhere)
	s.settle()
	require.Empty(t, second.SetupKeys())
}

// TestAKeyForAnImmutableSecret is not made again and again, to be deleted each time.
func TestAKeyForAnImmutableSecret(t *testing.T) {
	s := newSite(t)
	require.NoError(t, s.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "enrol"}, Immutable: new(true)}))
	enrol := ozkey("laptops", intoSecret())
	s.reconcile(enrol)
	s.requireReason(enrol, v1.ReasonInvalidConfig, "Secret enrol is immutable")
	require.Zero(t, s.server.Writes(openzro.Call{}))
}

// rewritten answers as the server does, but for some words.
func rewritten(pattern, with string) openzro.Misbehaviour {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(regexp.MustCompile(pattern).ReplaceAll(answer.Body.Bytes(), []byte(with)))
	}
}

// TestAServerThatTellsNoKey checks that an invalid key in a response is not stored, and that no
// more keys are created.
func TestAServerThatTellsNoKey(t *testing.T) {
	s := newSite(t)
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 1, rewritten(`"key":"[^"]*"`, `"key":""`))
	enrol := ozkey("laptops", v1.OZSetupKeySpec{})
	s.apply(enrol)
	require.NoError(t, s.once())
	s.requireReason(enrol, v1.ReasonAPIError, "did not return the key")
	require.Empty(t, s.stored("laptops-key", "setupKey"))
	require.Empty(t, s.keyIDs())
	s.settle()
	s.requireReconciled(enrol)
	require.Len(t, s.keyIDs(), 1)
}

// TestAServerThatTellsNoState checks that a key without a state does not cause a panic.
func TestAServerThatTellsNoState(t *testing.T) {
	s := newSite(t)
	enrol := ozkey("laptops", v1.OZSetupKeySpec{})
	s.reconcile(enrol)
	s.server.Fault(openzro.Call{Method: http.MethodGet}, 0, rewritten(`"state":"[^"]*"`, `"state":""`))
	s.look()
	s.requireReason(enrol, v1.ReasonInvalidSetupKey, `the setup key is "" at the server`)
}

// TestWhatIsMadeLaterIsSomebodysElse, also where the answer to the making of a key got lost.
func TestWhatIsMadeLaterIsSomebodysElse(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	s.server.Fault(openzro.Call{Method: http.MethodPost}, 1, openzro.LoseAnswer())
	enrol := ozkey("laptops", intoSecret())
	s.apply(enrol)
	require.NoError(t, s.once())
	theirs, err := s.other(s.account.Token).SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "theirs", Type: "reusable", AutoGroups: []string{}})
	require.NoError(t, err)
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}})
	secret.Data["key"] = []byte(theirs.Key)
	require.NoError(t, s.client.Update(t.Context(), secret))
	s.look()
	s.settle()
	s.requireReconciled(enrol)
	require.Equal(t, []string{theirs.ID}, s.keyIDs(), "the one that nobody knows is gone")
	later := s.bystander("laptops")
	s.look()
	s.delete(enrol)
	s.settle()
	require.Equal(t, []string{theirs.ID, later}, s.keyIDs())
}

// TestTwoKeysInOneSecret: the notes are those of one of them, and each knows its own key.
func TestTwoKeysInOneSecret(t *testing.T) {
	s := newSite(t)
	s.put("enrol", "unrelated", "y")
	into := func(key string) v1.OZSetupKeySpec {
		spec := intoSecret()
		spec.SecretKeyRef.Key, spec.AutoGroups, spec.ReplaceWhen = key, []string{"Developers"}, []v1.Replacement{v1.ReplaceRevoked}
		return spec
	}
	first, second := ozkey("laptops", into("a")), ozkey("phones", into("b"))
	s.reconcile(ozgroup("dev", "Developers"), ozgroup("ops", "Operators"), first)
	s.reconcile(second)
	s.look()
	s.settle()
	s.requireReconciled(first, second)
	require.False(t, first.Status.Adopted)
	require.False(t, second.Status.Adopted)
	require.Len(t, s.keyIDs(), 2)
	s.atRest()

	first = get(s, first)
	first.Spec.AutoGroups = []string{"Operators"}
	s.reconcile(first)
	s.requireReconciled(first)
	other := s.other(s.account.Token)
	id := get(s, first).Status.SetupKeyID
	require.NoError(t, other.SetupKeys.Load(t.Context()))
	made, _ := other.SetupKeys.Get(id)
	require.Equal(t, []string{s.groupNamed("Operators").ID}, made.AutoGroups, "its groups are followed")
	_, err := other.SetupKeys.Update(t.Context(), id, management.SetupKeyUpdate{AutoGroups: []string{}, Revoked: true})
	require.NoError(t, err)
	s.look()
	s.settle()
	s.requireReconciled(first, second)
	require.NotEqual(t, id, first.Status.SetupKeyID)
	require.Len(t, s.keyIDs(), 2, "the one that was revoked is gone")

	s.delete(second)
	s.settle()
	require.Empty(t, s.stored("enrol", "b"))
	require.True(t, isKey(s.stored("enrol", "a")))
	notes := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "enrol"}}).Annotations
	require.Equal(t, string(first.UID), notes[keyForAnnotation], "which are not of the one that went")
	s.requireReconciled(first)
	require.False(t, first.Status.Adopted)
	s.delete(first)
	s.settle()
	require.Empty(t, s.stored("enrol", "a"))
	require.Empty(t, s.keyIDs())
}

// TestKeysOfOneNameInOneAccount checks that a key that was not stored is deleted after a crash,
// but not the key that another namespace has created meanwhile.
func TestKeysOfOneNameInOneAccount(t *testing.T) {
	s := newSite(t)
	s.key("other", s.account.Token)
	lost, theirs, mine := s.bystander("laptops"), in("other", ozkey("laptops", v1.OZSetupKeySpec{})), ozkey("laptops", v1.OZSetupKeySpec{})
	s.reconcile(theirs)
	s.requireReconciled(theirs)
	before := theirs.Status.SetupKeyID
	s.apply(mine)
	mine.Status.Making = &v1.KeyMaking{Name: "laptops"}
	require.NoError(t, s.client.Status().Update(t.Context(), mine))
	s.restart()
	s.settle()
	s.requireReconciled(mine, theirs)
	require.ElementsMatch(t, []string{mine.Status.SetupKeyID, before}, s.keyIDs())
	require.NotContains(t, s.keyIDs(), lost)
}
