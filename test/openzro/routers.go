package openzro

import (
	"net/http"
)

type storedRouter struct {
	Router
	network string
}

func (r *storedRouter) key() string  { return r.ID }
func (r *storedRouter) show() Router { return r.Router }

var routerRoutes = map[string]handler{
	"GET /api/networks/routers": func(r *request) (any, error) {
		return never(transform(r.account.routers, (*storedRouter).show)), nil
	},
	"GET /api/networks/{network}/routers":         listRouters,
	"POST /api/networks/{network}/routers":        createRouter,
	"GET /api/networks/{network}/routers/{id}":    getRouter,
	"PUT /api/networks/{network}/routers/{id}":    updateRouter,
	"DELETE /api/networks/{network}/routers/{id}": deleteRouter,
}

// listRouters does not ask whether there is such a network.
func listRouters(r *request) (any, error) {
	shown := []Router{}
	for _, one := range r.account.routers {
		if one.network == r.PathValue("network") {
			shown = append(shown, one.Router)
		}
	}
	return shown, nil
}

// routerNamed returns the router that the path names, in any network.
func (r *request) routerNamed() (*storedRouter, error) {
	return named(r, r.account.routers, "router", "id")
}

func getRouter(r *request) (any, error) {
	found, err := r.routerNamed()
	if err != nil {
		return nil, err
	}
	if found.network != r.PathValue("network") {
		return nil, broken()
	}
	return found.Router, nil
}

// routerBody returns the router of a request. The server does not check whether its peer and
// groups exist, whether it has both, or whether its metric is from 1 to 9999.
func (r *request) routerBody() (*storedRouter, error) {
	asked := &storedRouter{network: r.PathValue("network")}
	if err := r.decode(&asked.Router); err != nil {
		return nil, err
	}
	_, err := r.networkNamed()
	return asked, err
}

// createRouter always enables the router, even if the request does not.
func createRouter(r *request) (any, error) {
	added, err := r.routerBody()
	if err != nil {
		return nil, err
	}
	added.ID, added.Enabled = newID(), true
	r.account.routers = append(r.account.routers, added)
	return added.Router, nil
}

// updateRouter makes one with the ID that the path names, where there is none.
func updateRouter(r *request) (any, error) {
	asked, err := r.routerBody()
	if err != nil {
		return nil, err
	}
	asked.ID = r.PathValue("id")
	if found, ok := find(r.account.routers, asked.ID); ok {
		*found = *asked
	} else {
		r.account.routers = append(r.account.routers, asked)
	}
	return asked.Router, nil
}

func deleteRouter(r *request) (any, error) {
	if _, err := r.networkNamed(); err != nil {
		return nil, err
	}
	found, err := r.routerNamed()
	if err != nil {
		return nil, err
	}
	if found.network != r.PathValue("network") {
		return nil, refuse(http.StatusBadRequest, "the router %s is of another network", found.ID)
	}
	r.account.routers = without(r.account.routers, found.ID)
	return empty{}, nil
}
