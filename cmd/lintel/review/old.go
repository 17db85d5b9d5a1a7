package review

import (
	"errors"
	"fmt"
	"io"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// identity names an object in any version of its kind.
func identity(o manifests.Object) string {
	return fmt.Sprintf("%s %s/%s", o.Kind.GroupKind(), o.Namespace, o.Name)
}

// readOld reads --old. Each of its objects is the one before the update of an object of -f, and each
// object of -f has one.
func (c *checker) readOld(stdin io.Reader) error {
	if !c.options.request.hasOld() {
		return nil
	}
	list, err := manifests.Read([]string{c.options.request.old}, stdin)
	if err != nil {
		return err
	}
	updated := map[string]manifests.Object{}
	for _, o := range c.objects {
		if other, taken := updated[identity(o)]; taken && o.Name != "" {
			return fmt.Errorf("%s: %s is at %s, too, and --old has one object before both updates: give one", o.Origin, o.Title(), other.Origin)
		}
		updated[identity(o)] = o
	}
	c.old = map[string]manifests.Object{}
	for i := range list {
		o := &list[i]
		if o.IsReview() {
			return fmt.Errorf("%s: --old takes objects, and an AdmissionReview has its own oldObject: give the AdmissionReview with -f", o.Origin)
		}
		c.setNamespace(o)
		if err := c.readStored(o); err != nil {
			return err
		}
		if other, taken := c.old[identity(*o)]; taken {
			return fmt.Errorf("%s: %s is at %s, too: keep one", o.Origin, o.Title(), other.Origin)
		}
		c.old[identity(*o)] = *o
		if _, known := updated[identity(*o)]; known {
			continue
		}
		if len(list) == 1 && len(c.objects) == 1 {
			return fmt.Errorf("%s: --old has %s, and the update at %s is of %s: both must have the same kind, namespace and name", o.Origin, o.Title(), c.objects[0].Origin, c.objects[0].Title())
		}
		return fmt.Errorf("%s: --old has %s, and no object of -f has the same kind, namespace and name", o.Origin, o.Title())
	}
	for _, o := range c.objects {
		if _, known := c.old[identity(o)]; !known {
			return fmt.Errorf("%s: --old has no %s, which -f updates", o.Origin, o.Title())
		}
	}
	return nil
}

// readStored completes an object that is in the cluster before the request, as the API server does
// when it reads the object from its store.
func (c *checker) readStored(o *manifests.Object) error {
	text, err := o.JSON()
	if err != nil {
		return err
	}
	stored, err := c.resources.Kinds.Stored(text, o.Kind)
	switch {
	case errors.Is(err, kinds.ErrNotKnown): // stored in another version
		return nil
	case err != nil:
		return fmt.Errorf("%s: a cluster cannot contain this object: %w", o.Origin, err)
	}
	o.Text = stored
	return nil
}

// oldObject is the object before an update in a version: nil if --old does not have it.
func (c *checker) oldObject(o manifests.Object, version string) ([]byte, error) {
	old, ok := c.old[identity(o)]
	if !ok {
		return nil, nil
	}
	return c.inVersion(old, version)
}
