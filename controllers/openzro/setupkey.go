package openzro

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// setupKeys reconciles OZSetupKeys. The server returns a key once, when it is created: the key
// is immediately stored in a Secret that was writable just before, and a key that could not be
// stored is deleted.
type setupKeys struct {
	*neighbours
	secrets *keySecretStore
	grants  *grants
}

func (k *setupKeys) keep(ctx context.Context, t *task[*v1.OZSetupKey]) error {
	secret, err := k.secrets.read(ctx, t.object)
	if err != nil {
		return err
	}
	if err := t.SetupKeys.Load(ctx); err != nil {
		return err
	}
	for _, id := range remoteIDs(t.next) {
		if _, _, err := t.SetupKeys.Confirm(ctx, id); err != nil {
			return err
		}
	}
	return k.by(ctx, t, secret)
}

// by carries an object out by what its Secret has.
func (k *setupKeys) by(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret) error {
	secret = believed(t, secret)
	t.next.Status.KeysMade = keyIDsOf(t, secret)
	if secret.has {
		if err := k.sweep(ctx, t, secret); err != nil {
			return err
		}
		t.next.Status.Making = nil // it is over, and others may make keys of the name
	}
	switch {
	case !secret.has:
		return k.make(ctx, t, secret, management.SetupKey{})
	case !secret.good:
		return k.malformed(t.object, secret)
	case secret.id == "":
		return k.use(ctx, t, secret)
	}
	if have, found := t.SetupKeys.Get(secret.id); found && !strings.HasPrefix(strings.ToUpper(have.Key), secret.prefix) {
		return k.use(ctx, t, secret) // a user has stored another key there
	}
	return k.hold(ctx, t, secret)
}

func (k *setupKeys) malformed(of *v1.OZSetupKey, secret keySecret) error {
	ref := of.SecretKey()
	return stalled(v1.ReasonInvalidSetupKey, "key %s of Secret %s is not a setup key, which is a UUID: %s", ref.Key, ref.Name, anotherKey(ref, secret))
}

// anotherKey is how a user replaces the key in a Secret. Admission permits only the deletion of
// a Secret that Lintel created.
func anotherKey(ref corev1.SecretKeySelector, secret keySecret) string {
	if secret.owned {
		return fmt.Sprintf("delete Secret %s, and Lintel creates another key", ref.Name)
	}
	return "set a valid key, or remove the key to create one"
}

// hold updates a key that was created for the object to the desired state.
func (k *setupKeys) hold(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret) error {
	t.next.Status.Adopted = false
	if _, left := t.SetupKeys.Get(secret.replaced); left && secret.replaced != secret.id {
		if err := t.counted("delete", t.SetupKeys.Remove(ctx, secret.replaced)); err != nil {
			return err
		}
	}
	have, found := t.SetupKeys.Get(secret.id)
	if !found {
		return k.make(ctx, t, secret, have) // the key in the Secret enrols no peers
	}
	if have.State != management.KeyValid {
		return k.spent(ctx, t, secret, have)
	}
	wanted, unknown := k.autoGroups(ctx, t)
	if unknown != nil && !isProblem(unknown) {
		return unknown
	}
	if unknown != nil { // peers no longer join a removed group, even while others are missing
		wanted = stillNamed(t.Tenant, have.AutoGroups, wanted)
	}
	if !slices.Equal(slices.Sorted(slices.Values(have.AutoGroups)), wanted) {
		var err error
		if have, err = t.SetupKeys.Update(ctx, have.ID, management.SetupKeyUpdate{AutoGroups: nonNil(wanted), Revoked: have.Revoked}); err != nil {
			return gone(err, t.SetupKeys.Forget)
		}
		t.made("update")
	}
	if unknown == nil {
		describe(t, have)
	}
	return unknown
}

// use reports the state of a foreign key in the Secret.
func (k *setupKeys) use(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret) error {
	k.adopted(t)
	have, found := keyOf(t.SetupKeys.All(), secret.prefix)
	if !found && t.object.Spec.ManagementURL == "" {
		pending, err := t.SetupKeys.Missed(ctx, "key "+secret.prefix)
		if err != nil {
			return err
		}
		if pending {
			return waiting(v1.ReasonDependency, "the setup key in Secret %s is looked for in the next list of the server", t.object.SecretKey().Name)
		}
		have, found = keyOf(t.SetupKeys.All(), secret.prefix)
	}
	switch {
	case found && have.State != management.KeyValid:
		return k.spent(ctx, t, secret, have)
	case found:
		describe(t, have)
		t.says = "the key in the Secret is used; it stays when this object is deleted"
		return nil
	}
	t.next.Status.SetupKeyID, t.next.Status.State, t.next.Status.Expires = "", "", nil
	if t.object.Spec.ManagementURL != "" {
		t.says = "the key in the Secret is one of " + t.object.Spec.ManagementURL + ", which is not asked"
		return nil
	}
	ref := t.object.SecretKey()
	return stalled(v1.ReasonInvalidSetupKey, "the server does not have the setup key in key %s of Secret %s: %s", ref.Key, ref.Name, anotherKey(ref, secret))
}

// adopted notes that the key in the Secret is not the object's. It is never changed.
func (k *setupKeys) adopted(t *task[*v1.OZSetupKey]) {
	if t.next.Status.Adopted = true; !t.object.Status.Adopted {
		ref := t.object.SecretKey()
		t.tell(object.Event{Reason: "Adopted", Message: fmt.Sprintf("uses the setup key in key %s of Secret %s; it stays when this object is deleted", ref.Key, ref.Name)})
	}
}

// keyOf is the key that begins as one does whose rest the server does not tell: one that is
// valid, if there are several.
func keyOf(all []management.SetupKey, prefix string) (have management.SetupKey, found bool) {
	for _, one := range all {
		if !strings.HasPrefix(strings.ToUpper(one.Key), prefix) {
			continue
		}
		if !found || one.State == management.KeyValid {
			have, found = one, true
		}
	}
	return have, found
}

// spent replaces a used-up key, if the object requests that.
func (k *setupKeys) spent(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret, have management.SetupKey) error {
	asked := slices.ContainsFunc(t.object.Spec.ReplaceWhen, func(when v1.Replacement) bool { return strings.EqualFold(string(when), have.State) })
	if asked {
		return k.make(ctx, t, secret, have)
	}
	describe(t, have)
	for _, when := range []v1.Replacement{v1.ReplaceRevoked, v1.ReplaceExpired, v1.ReplaceOverused} {
		if strings.EqualFold(string(when), have.State) {
			return stalled(v1.ReasonInvalidSetupKey, "the setup key is %s at the server; to have it replaced, put %s into spec.replaceWhen", have.State, when)
		}
	}
	return stalled(v1.ReasonInvalidSetupKey, "the setup key is %q at the server, which Lintel does not know: valid states are valid, revoked, expired and overused", have.State)
}

// make creates a key and stores it. before is the key that it replaces, if any.
func (k *setupKeys) make(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret, before management.SetupKey) error {
	request, err := k.request(ctx, t)
	if err != nil {
		return err
	}
	now, err := k.secrets.live(ctx, t.object)
	if err != nil {
		return err
	}
	now = believed(t, now)
	if now.has != secret.has || now.id != secret.id || now.uid != secret.uid {
		return k.by(ctx, t, now) // the cache was behind
	}
	if now.immutable {
		return stalled(v1.ReasonInvalidConfig, "Secret %s is immutable, so that no key can be stored there: delete it, and create it again without immutable", t.object.SecretKey().Name)
	}
	if err := k.sweep(ctx, t, now); err != nil {
		return err
	}
	uid, err := k.secrets.claim(ctx, t.object, now)
	if err != nil {
		return err
	}
	made, err := k.create(ctx, t, request)
	if err != nil {
		return err
	}
	if !isKey(made.Key) {
		return errors.Join(&problem{reason: v1.ReasonAPIError, again: failedPause, message: "the server created a setup key, and did not return the key"}, k.discard(ctx, t, made.ID))
	}
	replaced := k.replaced(t, now, before)
	if err := k.secrets.store(ctx, t.object, uid, made, replaced); err != nil {
		return errors.Join(err, k.discard(ctx, t, made.ID))
	}
	t.next.Status.Adopted, t.next.Status.Making = false, nil
	t.next.Status.KeysMade = append(t.next.Status.KeysMade, made.ID)
	describe(t, made)
	if replaced == "" {
		return nil
	}
	t.made("delete")
	return t.SetupKeys.Remove(ctx, replaced)
}

// create creates a key. The status records the creation, in case the response is lost.
func (k *setupKeys) create(ctx context.Context, t *task[*v1.OZSetupKey], request management.SetupKeyRequest) (made management.SetupKey, err error) {
	making := &v1.KeyMaking{Name: request.Name}
	for _, one := range t.SetupKeys.Named(request.Name) {
		making.Before = append(making.Before, one.ID)
	}
	t.next.Status.Making = making
	if err := t.save(ctx); err != nil {
		return made, err
	}
	if made, err = t.SetupKeys.Create(ctx, request); err == nil {
		t.made("create")
	} else if !management.Unsure(err) {
		t.next.Status.Making = nil
	}
	return made, err
}

// discard deletes a key that could not be stored: no peer has it.
func (k *setupKeys) discard(ctx context.Context, t *task[*v1.OZSetupKey], id string) error {
	err := t.SetupKeys.Remove(context.WithoutCancel(ctx), id)
	if err == nil {
		t.next.Status.Making = nil
	}
	return err
}

// sweep deletes keys that were created for the object and never stored: unused keys of its name
// that did not exist before.
func (k *setupKeys) sweep(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret) error {
	making := t.object.Status.Making
	if making == nil {
		return nil
	}
	for _, one := range t.SetupKeys.Named(making.Name) {
		if one.UsedTimes > 0 || one.ID == secret.id || slices.Contains(making.Before, one.ID) {
			continue
		}
		if theirs, err := k.haveKey(ctx, t.object, one.ID); err != nil {
			return err
		} else if theirs {
			continue
		}
		if err := t.counted("delete", t.SetupKeys.Remove(ctx, one.ID)); err != nil {
			return err
		}
	}
	return nil
}

// haveKey reports whether a key was created for another object: several objects may create keys
// of one name in an account.
func (k *setupKeys) haveKey(ctx context.Context, of *v1.OZSetupKey, id string) (bool, error) {
	var all v1.OZSetupKeyList
	if err := k.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("looking for the OZSetupKey of a key: %w", err)
	}
	return slices.ContainsFunc(all.Items, func(other v1.OZSetupKey) bool {
		return other.UID != of.UID && slices.Contains(other.Status.KeysMade, id)
	}), nil
}

func (k *setupKeys) remove(ctx context.Context, t *task[*v1.OZSetupKey]) error {
	secret, err := k.secrets.read(ctx, t.object)
	if err != nil {
		return err
	}
	if !hasMade(t.object) {
		return k.forget(ctx, t, secret, false)
	}
	if err := t.SetupKeys.Load(ctx); err != nil {
		return err
	}
	if making := t.object.Status.Making; making != nil { // the ID of the key is not known
		created := func(one management.SetupKey) bool {
			return one.Name == making.Name && !slices.Contains(making.Before, one.ID)
		}
		absent, err := t.SetupKeys.Absent(ctx, string(t.object.UID), created)
		if err != nil {
			return err
		}
		if !absent && !slices.ContainsFunc(t.SetupKeys.Named(making.Name), created) {
			return inFlight(kindSetupKey)
		}
	}
	for _, id := range append(remoteIDs(t.object), secret.id, secret.replaced) {
		if _, _, err := t.SetupKeys.Confirm(ctx, id); err != nil {
			return err
		}
	}
	secret = believed(t, secret)
	if err := k.sweep(ctx, t, secret); err != nil {
		return err
	}
	have, _ := t.SetupKeys.Get(secret.id)
	ours := strings.HasPrefix(strings.ToUpper(have.Key), secret.prefix) // otherwise a user has stored another key there
	for _, id := range keyIDsOf(t, secret) {
		if err := t.counted("delete", t.SetupKeys.Remove(ctx, id)); err != nil {
			return err
		}
	}
	return k.forget(ctx, t, secret, secret.id != "" && (ours || have.ID == ""))
}

// forget takes what an object has left in a Secret out of it, also the key where that is
// wanted. One that goes with the object is left as it is.
func (k *setupKeys) forget(ctx context.Context, t *task[*v1.OZSetupKey], secret keySecret, key bool) error {
	if !secret.noted && !key || secret.owned && !t.object.DeletionTimestamp.IsZero() {
		return nil
	}
	return k.secrets.clear(ctx, t.object, secret, key)
}

// without says of a key in a namespace without access to the server whether it could be
// one, which is all that can be said.
func (k *setupKeys) without(ctx context.Context, t *task[*v1.OZSetupKey]) error {
	secret, err := k.secrets.read(ctx, t.object)
	ref := t.object.SecretKey()
	switch {
	case err != nil:
		return err
	case !secret.exists:
		return waiting(v1.ReasonSecretNotExists, "Secret %s does not exist, and the namespace has no key to the server with which to have a setup key made: make one of the Secrets %s and %s", ref.Name, ref.Name, v1.APIKeySecret)
	case !secret.has:
		return waiting(v1.ReasonSecretKeyNotExists, "Secret %s has no key %s, and the namespace has no key to the server with which to have a setup key made: put it there, or make the Secret %s", ref.Name, ref.Key, v1.APIKeySecret)
	case !secret.good:
		return k.malformed(t.object, secret)
	}
	k.adopted(t)
	t.says = "the key in the Secret is used; the namespace has no key to the server, which is not asked about it"
	return nil
}
