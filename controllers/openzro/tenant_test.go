package openzro

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

func in[T metav1.Object](namespace string, o T) T {
	o.SetNamespace(namespace)
	return o
}

// TestTenantsDoNotTouch is Z26: equal names in two accounts.
func TestTenantsDoNotTouch(t *testing.T) {
	s := newSite(t)
	second := s.server.AddAccount("umbrella")
	s.key("other", second.Token)
	mine, yours := ozgroup("dev", "Developers"), in("other", ozgroup("dev", "Developers"))
	s.reconcile(mine, yours)
	s.requireReconciled(mine, yours)
	require.False(t, mine.Status.Adopted || yours.Status.Adopted)
	require.NotEqual(t, mine.Status.GroupID, yours.Status.GroupID)
	s.delete(mine)
	s.settle()
	require.Len(t, second.Groups(), 2)
	require.Len(t, s.account.Groups(), 1)

	// A policy finds no group of the other account.
	s.apply(in("other", ozgroup("srv", "Servers")))
	policy := web(80)
	s.reconcile(policy)
	s.requireReason(policy, v1.ReasonGroupNotFound, "Developers", "Servers")
}

func TestARotatedKeyIsUsed(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	next := s.account.AddToken(openzro.RoleAdmin, true)
	s.account.Revoke(s.account.Token)
	s.look()
	s.requireReason(dev, v1.ReasonUnauthorized, "Secret openzro-mgmt-api-key in namespace team", "OZ_API_KEY", "admin")
	require.NotContains(t, s.ready(dev).Message, s.account.Token)
	s.key(team, next)
	s.server.ForgetCalls()
	s.settle()
	s.requireReconciled(dev)
	require.Zero(t, s.server.Writes(openzro.Call{}))
	require.False(t, dev.Status.Adopted)
}

// TestAKeyThatComesBack checks that items that another key of the account has created meanwhile
// are recognized, and neither created again nor regarded as foreign.
func TestAKeyThatComesBack(t *testing.T) {
	s := newSite(t)
	first, second := ozgroup("first", "First"), ozgroup("second", "Second")
	policy := ozpolicy("policy", v1.OZPolicySpec{SourceGroups: []string{"Second"}, DestinationGroups: []string{"First"}, Ports: []int32{22}, Protocols: []v1.Protocol{"tcp"}})
	s.reconcile(first)
	had, next := s.account.Token, s.account.AddToken(openzro.RoleAdmin, true)
	s.key(team, next)
	s.reconcile(second, policy)
	s.requireReconciled(first, second, policy)
	s.server.ForgetCalls()
	s.key(team, had)
	s.settle()
	s.requireReconciled(first, second, policy)
	require.False(t, second.Status.Adopted)
	require.Zero(t, s.server.Writes(openzro.Call{}))
	s.delete(policy)
	s.requireDeletion(second)
	require.NotContains(t, s.groupNames(), "Second")
	require.Empty(t, s.policyNames())
}

func TestAPlainUser(t *testing.T) {
	s := newSite(t)
	s.key(team, s.account.AddToken(openzro.RoleUser, true))
	dev := ozgroup("dev", "Developers")
	s.apply(dev)
	require.NoError(t, s.once())
	s.requireReason(dev, v1.ReasonForbidden, "Secret openzro-mgmt-api-key", "role admin")
	s.key(team, s.account.Token)
	s.settle()
	s.requireReconciled(dev)
	require.False(t, dev.Status.Adopted)
}

// TestARefusedKeyHoldsNothingUp checks that a namespace whose token never worked can be deleted.
// Items that are known to exist at the server wait for a valid key.
func TestARefusedKeyHoldsNothingUp(t *testing.T) {
	s := newSite(t)
	made := ozpolicy("made", v1.OZPolicySpec{SourceGroups: []string{"All"}, DestinationGroups: []string{"All"}, Ports: []int32{22}})
	s.reconcile(made)
	s.requireReconciled(made)
	s.key(team, s.account.AddToken(openzro.RoleUser, false))
	group, key, policy := ozgroup("dev", "Developers"), ozkey("laptops", v1.OZSetupKeySpec{}), web(80)
	rest := []v1.Object{policy, key, ozresource("db", "n", "10.0.0.1", "Data"), ozpeer("router")}
	s.apply(group)
	for _, o := range rest {
		s.apply(o)
	}
	require.NoError(t, s.once())
	s.requireReason(policy, v1.ReasonForbidden)
	for _, o := range append(rest, group, made) {
		s.delete(o)
	}
	require.NoError(t, s.once())
	require.True(t, s.isGone(group), "its status would tell")
	s.requireReason(policy, v1.ReasonForbidden, "openzro.io/deletion-policy=Retain")
	s.clock = s.clock.Add(2 * patience)
	require.NoError(t, s.once())
	for _, o := range rest {
		require.True(t, s.isGone(o), "%T", o)
	}
	s.requireReason(made, v1.ReasonForbidden, "openzro.io/deletion-policy=Retain")
	s.delete(get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1.APIKeySecret}}))
	s.restart()
	require.NoError(t, s.once())
	s.clock = s.clock.Add(2 * patience)
	require.NoError(t, s.once())
	s.requireReason(made, v1.ReasonNoKey, "openzro.io/deletion-policy=Retain")
	s.key(team, s.account.Token)
	s.settle()
	require.True(t, s.isGone(made))
	require.Empty(t, s.policyNames())
}

func TestANamespaceWithoutAKey(t *testing.T) {
	s := newSite(t)
	dev := in("empty", ozgroup("dev", "Developers"))
	s.reconcile(dev)
	s.requireReason(dev, v1.ReasonNoKey, "make the Secret openzro-mgmt-api-key", "OZ_API_KEY")
	require.Empty(t, dev.Finalizers)
	s.delete(dev)
	require.True(t, s.isGone(dev))
	for name, data := range map[string]map[string][]byte{
		"no key": {v1.APIManagementURL: []byte(s.server.URL)}, "no URL": {v1.APIKey: []byte("k"), v1.APIManagementURL: []byte("x")},
		"no CA": {v1.APIKey: []byte("k"), v1.APICertificates: []byte("x")},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "empty", Name: v1.APIKeySecret}, Data: data}
		require.NoError(t, s.client.Create(t.Context(), secret))
		bad := in("empty", ozgroup("dev", "Developers"))
		s.reconcile(bad)
		require.NotEqual(t, v1.ReasonReconciled, s.ready(bad).Reason, name)
		require.Contains(t, s.ready(bad).Message, v1.APIKeySecret, name)
		s.delete(bad)
		s.settle()
		s.delete(secret)
	}
	require.Empty(t, s.server.Calls())
}

// fallback gives all namespaces a default key, that of an account.
func (s *site) fallback(token string) (file string) {
	file = filepath.Join(s.t.TempDir(), "key")
	require.NoError(s.t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	s.options.apiKeyFile = file
	s.restart()
	return file
}

// TestTheDefaultKey is for namespaces without a Secret, and is read again.
func TestTheDefaultKey(t *testing.T) {
	s := newSite(t)
	common := s.server.AddAccount("common")
	file := s.fallback(common.Token)
	dev := in("any", ozgroup("dev", "Developers"))
	s.reconcile(dev)
	s.requireReconciled(dev)
	require.Equal(t, v1.KeyDefault, dev.Status.Key)
	require.Len(t, common.Groups(), 2)
	common.Revoke(common.Token)
	s.look()
	s.requireReason(dev, v1.ReasonUnauthorized, "--openzro-api-key-file")
	require.NoError(t, os.WriteFile(file, []byte(common.AddToken(openzro.RoleAdmin, true)), 0o600))
	require.NoError(t, os.Chtimes(file, time.Now(), time.Now().Add(time.Minute)))
	s.settle()
	s.requireReconciled(dev)

	s.options.defaultNamespaces = []string{"team-*"}
	s.restart()
	s.settle()
	s.requireReason(dev, v1.ReasonNoKey, "namespace any has no key")
}

// TestTheDefaultKeyIsNoSubstitute for that of a namespace, which is another account's: not
// while the Secret is gone, and not where the Secret says.
func TestTheDefaultKeyIsNoSubstitute(t *testing.T) {
	s := newSite(t)
	common := s.server.AddAccount("common")
	s.fallback(common.Token)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1.APIKeySecret}}
	s.delete(secret)
	s.settle()
	s.requireReason(dev, v1.ReasonNoKey, "create the Secret again")
	require.NotContains(t, s.ready(dev).Message, "made this", "whether anything was made, it does not know")
	require.Len(t, common.Groups(), 1)

	s.restart()
	s.delete(dev)
	s.settle()
	s.requireReason(dev, v1.ReasonNoKey, "openzro.io/deletion-policy=Retain")
	s.key(team, s.account.Token)
	s.settle()
	require.True(t, s.isGone(dev))
	require.Equal(t, []string{"All"}, s.groupNames())
}

// TestANamespaceThatGoes takes the key along: it is remembered for what goes with it.
func TestANamespaceThatGoes(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1.APIKeySecret}})
	s.requireDeletion(dev)
	require.Equal(t, []string{"All"}, s.groupNames())
}

// TestANamespaceGetsItsOwnKey checks that the items that were created with the default key are
// deleted.
func TestANamespaceGetsItsOwnKey(t *testing.T) {
	s := newSite(t)
	common := s.server.AddAccount("common")
	s.fallback(common.Token)
	dev := in("any", ozgroup("dev", "Developers"))
	s.reconcile(dev)
	require.Len(t, common.Groups(), 2)
	s.key("any", s.account.Token)
	s.settle()
	s.requireReconciled(dev)
	require.Equal(t, v1.KeySecret, dev.Status.Key)
	require.Len(t, common.Groups(), 1)
	require.Equal(t, dev.Status.GroupID, s.groupNamed("Developers").ID)
	require.False(t, dev.Status.Adopted)
}

// TestANamespaceGetsItsOwnKeyToTheSameAccount: who is in the group stays there.
func TestANamespaceGetsItsOwnKeyToTheSameAccount(t *testing.T) {
	for name, own := range map[string]func(s *site) string{
		"another token": func(s *site) string { return s.account.AddToken(openzro.RoleAdmin, true) },
		"the same one":  func(s *site) string { return s.account.Token },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.fallback(s.account.Token)
			dev := in("any", ozgroup("dev", "Developers"))
			s.reconcile(dev)
			id := get(s, dev).Status.GroupID
			s.account.AddPeer("laptop", id)
			s.server.ForgetCalls()
			s.key("any", own(s))
			s.settle()
			s.requireReconciled(dev)
			require.Equal(t, v1.KeySecret, dev.Status.Key)
			require.False(t, dev.Status.Adopted)
			require.Equal(t, id, dev.Status.GroupID)
			require.Len(t, s.groupNamed("Developers").Peers, 1)
			require.Zero(t, s.server.Writes(openzro.Call{}))
		})
	}
}

// TestOneServerThatIsDown: the objects of others are carried out, and its own when it is
// back.
func TestOneServerThatIsDown(t *testing.T) {
	s := newSite(t)
	second, err := openzro.Start()
	require.NoError(t, err)
	defer second.Stop()
	umbrella := second.AddAccount("umbrella")
	s.key("other", umbrella.Token)
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = "other", v1.APIKeySecret
	secret = get(s, secret)
	secret.Data[v1.APIManagementURL] = []byte(second.URL)
	require.NoError(t, s.client.Update(t.Context(), secret))
	second.Stop()
	mine := ozgroup("dev", "Developers")
	s.apply(mine)
	for _, name := range []string{"a", "b", "c"} {
		s.apply(in("other", ozgroup(name, name)))
	}
	s.settle()
	s.requireReconciled(mine)
	s.requireReason(in("other", ozgroup("b", "")), v1.ReasonAPIError, second.URL)
	require.NoError(t, second.Resume())
	s.look()
	s.requireReconciled(in("other", ozgroup("a", "")), in("other", ozgroup("b", "")), in("other", ozgroup("c", "")))
	require.Equal(t, 3, second.Writes(openzro.Call{}), "nothing lost, nothing double")
}

// TestAServerThatAnswersHTML, as a login page in front of it does.
func TestAServerThatAnswersHTML(t *testing.T) {
	s := newSite(t)
	end := s.server.Fault(openzro.Call{}, 0, openzro.HTML(http.StatusOK))
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReason(dev, v1.ReasonAPIError, "text/html", "check managementURL")
	end()
	s.look()
	s.requireReconciled(dev)
}

// TestASecretDoesNotLeadToThisMachine checks a default server that is elsewhere: services on
// this machine's loopback address are not for tenants.
func TestASecretDoesNotLeadToThisMachine(t *testing.T) {
	s := newSite(t)
	here := s.server.URL
	s.options.managementURL = "https://openzro.example"
	s.restart()
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1.APIKeySecret}})
	secret.Data[v1.APIManagementURL] = []byte(here)
	require.NoError(t, s.client.Update(t.Context(), secret))
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReason(dev, v1.ReasonAPIError, "127.0.0.1", "check managementURL")
	require.Empty(t, s.server.Calls())
}

// TestAnOutageIsNoNews to objects that were carried out: they say nothing of it.
func TestAnOutageIsNoNews(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.server.Stop()
	s.look()
	s.settle()
	s.requireReconciled(dev)
}

// TestAKeyThatIsGoneIsUsedNoMore, not even to list what the server has.
func TestAKeyThatIsGoneIsUsedNoMore(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1.APIKeySecret}})
	for name, lose := range map[string]func(){
		"no key there": func() { s.key(team, "") },
		"no such key":  func() { s.key(team, "a b") },
		"no Secret":    func() { s.delete(secret) },
	} {
		s.key(team, s.account.Token)
		s.settle()
		s.requireReconciled(dev)
		lose()
		s.settle()
		s.server.ForgetCalls()
		s.look()
		require.Empty(t, s.server.Calls(), name)
		if s.isGone(secret) {
			secret.ResourceVersion = ""
		}
	}
}

// TestANamespaceGetsItsOwnKeyWhileItsGroupIsInUse: the account of the default key is not the
// tenant's, who can take nothing out there.
func TestANamespaceGetsItsOwnKeyWhileItsGroupIsInUse(t *testing.T) {
	s := newSite(t)
	common := s.server.AddAccount("common")
	s.fallback(common.Token)
	dev := in("any", ozgroup("dev", "Developers"))
	s.reconcile(dev)
	_, err := s.other(common.Token).SetupKeys.Create(t.Context(), management.SetupKeyRequest{Name: "theirs", Type: "reusable", AutoGroups: []string{get(s, dev).Status.GroupID}})
	require.NoError(t, err)
	s.key("any", s.account.Token)
	require.NoError(t, s.once())
	s.requireReason(dev, v1.ReasonStillLinked)
	s.clock = s.clock.Add(2 * patience)
	s.look()
	s.settle()
	s.requireReconciled(dev)
	require.Equal(t, dev.Status.GroupID, s.groupNamed("Developers").ID)
	require.Contains(t, s.reported(), "LeftBehind")
}
