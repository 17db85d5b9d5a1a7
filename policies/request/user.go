package request

import (
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
)

const (
	anonymous       = "system:anonymous"
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	accountPrefix   = "system:serviceaccount:"
)

// Impersonated is the user of a request that impersonates a name, a uid and groups. The groups that
// the API server adds are those of a ServiceAccount, if no group is specified, and
// system:authenticated or system:unauthenticated.
func Impersonated(name, uid string, groups []string) authenticationv1.UserInfo {
	all := slices.Clone(groups)
	if rest, isAccount := strings.CutPrefix(name, accountPrefix); isAccount && len(all) == 0 {
		if namespace, account, found := strings.Cut(rest, ":"); found && namespace != "" && account != "" {
			all = append(all, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		}
	}
	added := authenticated
	if name == anonymous {
		added = unauthenticated
	}
	if !slices.Contains(all, added) && !slices.Contains(all, unauthenticated) {
		all = append(all, added)
	}
	return authenticationv1.UserInfo{Username: name, UID: uid, Groups: all}
}
