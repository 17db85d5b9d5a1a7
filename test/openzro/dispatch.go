package openzro

import (
	"net/http"
)

// prefix is that of all paths.
const prefix = "/api/"

// handler answers a call. The lock is held.
type handler func(*request) (any, error)

// newRoutes returns the paths that the server knows. Other paths return a 404 that is not JSON,
// before the caller is authenticated.
func (s *Server) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, collection := range []map[string]handler{
		accountRoutes, userRoutes, groupRoutes, keyRoutes, policyRoutes, networkRoutes, resourceRoutes, routerRoutes, zoneRoutes, recordRoutes,
	} {
		for pattern, handle := range collection {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				s.mu.Lock()
				defer s.mu.Unlock()
				answer, err := s.answer(r, handle)
				write(w, answer, err)
			})
		}
	}
	return mux
}

// answer lets a handler answer those who may ask.
func (s *Server) answer(r *http.Request, handle handler) (any, error) {
	user := s.userOf(r)
	if user == nil {
		return nil, refuse(http.StatusUnauthorized, "the token is missing or not valid")
	}
	if !user.may(r.Method) {
		return nil, refuse(http.StatusForbidden, "permission denied")
	}
	return handle(&request{r, user.account, user})
}

// item is one of a collection.
type item interface{ key() string }

// find is the one with an ID.
func find[T item](all []T, id string) (found T, ok bool) {
	for _, one := range all {
		if one.key() == id {
			return one, true
		}
	}
	return found, false
}

// named is the one of a collection whose ID is a part of the path.
func named[T item](r *request, all []T, what, part string) (T, error) {
	found, ok := find(all, r.PathValue(part))
	if !ok {
		return found, missing(what, r.PathValue(part))
	}
	return found, nil
}

// getting answers with one as it is found.
func getting[T, A any](named func(*request) (T, error), show func(*Account, T) A) handler {
	return func(r *request) (any, error) {
		found, err := named(r)
		if err != nil {
			return nil, err
		}
		return show(r.account, found), nil
	}
}

// deleting removes one as it is found.
func deleting[T any](named func(*request) (T, error), remove func(*Account, T)) handler {
	return func(r *request) (any, error) {
		found, err := named(r)
		if err != nil {
			return nil, err
		}
		remove(r.account, found)
		return empty{}, nil
	}
}

// without are all but the one with an ID.
func without[T item](all []T, id string) (rest []T) {
	for _, one := range all {
		if one.key() != id {
			rest = append(rest, one)
		}
	}
	return rest
}

// transform are the results of a function for all.
func transform[From, To any](all []From, to func(From) To) (result []To) {
	for _, one := range all {
		result = append(result, to(one))
	}
	return result
}

// never is an empty list in place of none: JSON's [] and not null.
func never[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
