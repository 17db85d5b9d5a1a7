package openzro

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// believed returns a Secret without annotations about keys that were not created for the object.
// Where the annotations are missing, or another object's, the key itself decides.
func believed(t *task[*v1.OZSetupKey], secret keySecret) keySecret {
	if isLeftBehind(t.next, secret.id) {
		// The key enrols in another account: one is created here as if there were none.
		return keySecret{exists: secret.exists, uid: secret.uid, noted: secret.noted, owned: secret.owned, immutable: secret.immutable}
	}
	for _, id := range []*string{&secret.id, &secret.replaced} {
		if !isMade(t, *id) {
			*id = ""
		}
	}
	if secret.id == "" && secret.good {
		made := func(id string) bool {
			one, there := t.SetupKeys.Get(id)
			return there && strings.HasPrefix(strings.ToUpper(one.Key), secret.prefix)
		}
		if i := slices.IndexFunc(t.object.Status.KeysMade, made); i >= 0 {
			secret.id = t.object.Status.KeysMade[i]
		}
	}
	return secret
}

// isMade reports whether a key was created for an object: the status decides, also where the
// manager crashed before it received the ID.
func isMade(t *task[*v1.OZSetupKey], id string) bool {
	status := &t.object.Status
	if id != "" && (slices.Contains(status.KeysMade, id) || id == status.SetupKeyID && !status.Adopted) {
		return true
	}
	one, there := t.SetupKeys.Get(id)
	return there && status.Making != nil && one.Name == status.Making.Name && !slices.Contains(status.Making.Before, id)
}

// keyIDsOf returns the keys at the server that were created for an object.
func keyIDsOf(t *task[*v1.OZSetupKey], secret keySecret) []string {
	ids := slices.Concat(t.object.Status.KeysMade, []string{t.object.Status.SetupKeyID, secret.id, secret.replaced})
	ids = slices.DeleteFunc(ids, func(id string) bool {
		_, there := t.SetupKeys.Get(id)
		return !there || !isMade(t, id)
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

// replaced returns the key that is deleted when a new one is stored: one that was created for
// the object, also where the Secret with it was deleted. A foreign key stays.
func (k *setupKeys) replaced(t *task[*v1.OZSetupKey], secret keySecret, before management.SetupKey) string {
	for _, id := range []string{before.ID, secret.id, t.object.Status.SetupKeyID} {
		if _, there := t.SetupKeys.Get(id); there && isMade(t, id) {
			return id
		}
	}
	return ""
}

func (k *setupKeys) request(ctx context.Context, t *task[*v1.OZSetupKey]) (management.SetupKeyRequest, error) {
	spec := t.object.Spec
	expiry, err := spec.Expiry()
	if err != nil {
		return management.SetupKeyRequest{}, stalled(v1.ReasonInvalidConfig, "%s", err)
	}
	groups, err := k.autoGroups(ctx, t)
	if err != nil {
		return management.SetupKeyRequest{}, err
	}
	request := management.SetupKeyRequest{
		Name: t.object.KeyName(), Type: string(spec.Type), ExpiresIn: int(expiry / time.Second), AutoGroups: nonNil(groups),
		UsageLimit: int(spec.UsageLimit), Ephemeral: isTrue(spec.Ephemeral), AllowExtraDNSLabels: isTrue(spec.AllowExtraDNSLabels),
	}
	if request.Type == "" {
		request.Type = string(v1.KeyTypeReusable)
	}
	return request, nil
}

// autoGroups are the IDs of the groups that peers join with a key. With a problem, they are
// those that the server has.
func (k *setupKeys) autoGroups(ctx context.Context, t *task[*v1.OZSetupKey]) ([]string, error) {
	spec := &t.object.Spec
	named, err := k.groupIDs(ctx, t.Tenant, t.by, spec.AutoGroups)
	if err != nil && !isProblem(err) {
		return nil, err
	}
	groups, other := k.groupsByID(ctx, t.Tenant, t.by, "spec.autoGroupIDs", spec.AutoGroupIDs)
	if other != nil && !isProblem(other) {
		return nil, other
	}
	err = cmp.Or(err, other)
	for _, id := range idsOf(named, spec.AutoGroups) {
		group, _ := t.Groups.Get(id)
		groups = append(groups, group)
	}
	if err == nil {
		err = k.grants.mayEnrol(ctx, t, groups)
	}
	return joined(management.GroupIDs(groups)), err
}

func isTrue(value *bool) bool { return value != nil && *value }

// nonNil is a list that is written as [] where it has nothing.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// describe writes the server's state of a key to the status.
func describe(t *task[*v1.OZSetupKey], have management.SetupKey) {
	status := &t.next.Status
	status.SetupKeyID, status.State, status.Expires = have.ID, v1.KeyState(have.State), nil
	if !have.Expires.IsZero() && have.Expires.Year() > 1 {
		status.Expires = &metav1.Time{Time: have.Expires.Truncate(time.Second)}
	}
}
