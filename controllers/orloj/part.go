package orloj

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

// settings are the flags.
type settings struct {
	storageBackend, sqlDriver  string
	dsn, key                   string
	mapping, cluster           string
	statusInterval             time.Duration // at which phases are read
	driftInterval              time.Duration // at which rows are compared, and permanent errors tried again
	createTables, requireCrypt bool
	connections                int32
	namespaces                 []string
}

// addTo adds the flags. Those of Orloj's own product document have its environment
// variables as defaults.
func (o *settings) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.dsn, "orloj-postgres-dsn", "", "`connection` string of the database of orlojd ($ORLOJ_POSTGRES_DSN)")
	flags.StringVar(&o.key, "orloj-secret-encryption-key", "", "32-byte encryption `key` of orlojd for the values of Secrets, in hex or base64 ($ORLOJ_SECRET_ENCRYPTION_KEY)")
	flags.BoolVar(&o.requireCrypt, "orloj-require-encryption", false, "refuse to store Secrets without a key")
	flags.StringVar(&o.mapping, "orloj-namespace-mapping", "", "`mode` of orloj.dev/target-namespace: Restricted (the default), which requires a permission on the Namespace, or Open ($ORLOJ_NAMESPACE_MAPPING)")
	flags.StringVar(&o.cluster, "orloj-cluster-id", "", "`identity` of this cluster in a database that several clusters share; the default is the UID of the namespace kube-system ($ORLOJ_CLUSTER_ID)")
	flags.DurationVar(&o.statusInterval, "orloj-status-sync-interval", 5*time.Second, "`interval` at which the manager reads the phases that orlojd sets")
	flags.DurationVar(&o.driftInterval, "orloj-drift-interval", time.Minute, "`interval` at which the manager compares all rows with their objects")
	flags.Int32Var(&o.connections, "orloj-max-connections", 10, "maximum `number` of connections to the database")
	flags.StringSliceVar(&o.namespaces, "orloj-namespaces", nil, "`namespaces` whose Orloj objects the manager reviews and stores; it then needs config/rbac/orloj-namespace in each. Without it, all namespaces")
	flags.BoolVar(&o.createTables, "orloj-create-tables", false, "for development: create the tables if orlojd has never run")
	flags.StringVar(&o.storageBackend, "orloj-storage-backend", "", "storage `backend`: postgres only ($ORLOJ_STORAGE_BACKEND)")
	flags.StringVar(&o.sqlDriver, "orloj-sql-driver", "", "SQL `driver`: pgx only ($ORLOJ_SQL_DRIVER)")
}

// complete reads the settings without flags from the environment, and validates all of them.
func (o settings) complete() (settings, rules.Mapping, error) {
	for variable, value := range map[string]*string{
		"ORLOJ_POSTGRES_DSN": &o.dsn, "ORLOJ_SECRET_ENCRYPTION_KEY": &o.key, "ORLOJ_NAMESPACE_MAPPING": &o.mapping,
		"ORLOJ_CLUSTER_ID":      &o.cluster,
		"ORLOJ_STORAGE_BACKEND": &o.storageBackend, "ORLOJ_SQL_DRIVER": &o.sqlDriver,
	} {
		*value = cmp.Or(*value, os.Getenv(variable))
	}
	switch {
	case o.storageBackend != "" && o.storageBackend != "postgres":
		return o, "", fmt.Errorf("--orloj-storage-backend is %q, and there is postgres alone", o.storageBackend)
	case o.sqlDriver != "" && o.sqlDriver != "pgx":
		return o, "", fmt.Errorf("--orloj-sql-driver is %q, and there is pgx alone", o.sqlDriver)
	case o.dsn == "":
		return o, "", errors.New("--orloj-postgres-dsn is missing: give the connection string of orlojd's database, there or in ORLOJ_POSTGRES_DSN")
	case o.statusInterval <= 0 || o.driftInterval <= 0:
		return o, "", errors.New("--orloj-status-sync-interval and --orloj-drift-interval are above 0")
	}
	mapping, err := rules.ParseMapping(cmp.Or(o.mapping, string(rules.Restricted)))
	if err != nil {
		return o, "", fmt.Errorf("--orloj-namespace-mapping: %w", err)
	}
	return o, mapping, nil
}

// admitter evaluates the rules for Orloj's kinds, for the webhook and the controllers.
type admitter struct {
	settings   settings
	rules      *rules.Rules
	mapping    rules.Mapping
	objects    client.Reader
	namespaces builtin.NamespaceGetter
}

// Part is the system orloj.
func Part() system.Part {
	a := &admitter{}
	return system.Part{
		Flags: a.settings.addTo, SetUp: a.setUp,
		Check: func() error { return system.CheckNamespaces("orloj-namespaces", a.settings.namespaces) },
	}
}

func (a *admitter) setUp(ctx context.Context, mgr system.Manager, on bool) ([]builtin.Product, error) {
	compiled, err := rules.New()
	if err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	a.rules = compiled
	if !on {
		return a.products(false), nil
	}
	settings, mapping, err := a.settings.complete()
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, mgr.GetConfig(), settings.namespaces)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(c); err != nil {
		return nil, err
	}
	a.mapping, a.objects, a.namespaces = mapping, c.GetClient(), mgr.Namespaces(c.GetClient(), c.GetAPIReader())
	rows, err := store.New(ctx, store.Options{
		DSN: settings.dsn, Key: settings.key, RequireEncryption: settings.requireCrypt, MaxConnections: settings.connections,
	})
	if err != nil {
		return nil, err
	}
	return a.products(true), addControllers(mgr, c, options{settings, rows, a.admit, c.GetEventRecorder("lintel-orloj")})
}

// changedForRules drops updates that no rule depends on: of finalizers, and of metadata that
// other clients maintain.
var changedForRules = admissionregistrationv1.MatchCondition{
	Name: "changed",
	Expression: `request.operation != "UPDATE" || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec ||
has(object.metadata.annotations) != has(oldObject.metadata.annotations) ||
(has(object.metadata.annotations) && object.metadata.annotations != oldObject.metadata.annotations) ||
has(object.metadata.labels) != has(oldObject.metadata.labels) ||
(has(object.metadata.labels) && object.metadata.labels != oldObject.metadata.labels)`,
}

// products are the webhook entries for Orloj's kinds. If the system is off, the entries exist
// without rules: entries are never added or removed.
func (a *admitter) products(on bool) []builtin.Product {
	objects := builtin.BuiltIn{
		Product: builtin.Product{Name: "orloj", Entry: "objects.orloj.dev"}, Snapshot: a.rules.Snapshot,
		Facts: func(ctx context.Context, review *admission.Review) (any, error) { return a.facts(ctx, review) },
	}
	if on {
		objects.Namespaces = a.namespaces
		objects.MatchConditions = append(builtin.InNamespaces(a.settings.namespaces, builtin.OfTheirs), changedForRules)
		objects.Rules = builtin.CalledForObjects(v1.GroupName, v1.SchemeGroupVersion.Version, rules.Resources()...)
	}
	return []builtin.Product{objects.Validating(), objects.Mutating()}
}

// facts finds the owner of the key of an object under review.
func (a *admitter) facts(ctx context.Context, review *admission.Review) (rules.Facts, error) {
	object, err := readObject(review.Object, review)
	if err != nil {
		return rules.Facts{}, err
	}
	facts := rules.Facts{Mapping: a.mapping, Target: object.Target()}
	if object.Metadata.Name == "" {
		return facts, nil // it has no key yet
	}
	if review.Operation == "UPDATE" {
		old, err := readObject(review.OldObject, review)
		if err != nil || old.Key() == object.Key() {
			return facts, err // the owner of the key has not changed
		}
	}
	facts.Taken, err = a.taken(ctx, object)
	return facts, err
}

func readObject(part func() (json.RawMessage, error), review *admission.Review) (rules.Object, error) {
	text, err := part()
	if err != nil {
		return rules.Object{}, err
	}
	object, err := rules.ReadObject(text, review.Namespace)
	object.Kind = review.Kind.Kind
	return object, err
}

// taken returns another object with the same key: nil if there is none.
func (a *admitter) taken(ctx context.Context, object rules.Object) (owner *rules.Reference, err error) {
	table, known := store.TableOf(object.Kind)
	if !known {
		return nil, fmt.Errorf("there are no rules for %s", object.Kind)
	}
	list := kind{table}.list()
	if err := a.objects.List(ctx, list, client.MatchingFields{keyIndex: object.Key()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for the store key %s: %w", object.Key(), err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		other := item.(client.Object)
		if other.GetNamespace() != object.Metadata.Namespace || other.GetName() != object.Metadata.Name {
			owner = &rules.Reference{Kind: object.Kind, Namespace: other.GetNamespace(), Name: other.GetName()}
		}
		return nil
	})
	return owner, err
}

// admit evaluates the rules for a stored object. The store checks who owns its key.
func (a *admitter) admit(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	namespace, err := a.namespaces.Namespace(ctx, object.GetNamespace())
	if err != nil {
		return builtin.Verdict{}, err
	}
	return a.rules.Evaluate(ctx, object, namespace, a.mapping)
}
