package installation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Postgres is a PostgreSQL server of one's own, with fsync on.
type Postgres struct {
	// DSN is the connection string of its superuser.
	DSN string

	folder, programs string
	port             int
	account          *syscall.Credential // nil where this process may run the server itself
	process          *exec.Cmd
	ended            chan struct{}
}

// StartPostgres makes a database in a temporary folder and serves it on loopback. It
// ends with this process at the latest.
func StartPostgres(ctx context.Context) (_ *Postgres, err error) {
	p := &Postgres{}
	if p.programs, err = postgresPrograms(); err != nil {
		return nil, err
	}
	if p.account, err = postgresAccount(); err != nil {
		return nil, err
	}
	if p.folder, err = os.MkdirTemp("", "lintel-postgres-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Remove())
		}
	}()
	if p.account != nil {
		if err := os.Chown(p.folder, int(p.account.Uid), int(p.account.Gid)); err != nil {
			return nil, err
		}
	}
	initialise := p.command(ctx, "initdb", "--pgdata", p.data(), "--username", "orloj", "--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync")
	if output, err := initialise.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("making a database: %w: %s", err, output)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	p.port = ports[0]
	p.DSN = fmt.Sprintf("postgres://orloj@127.0.0.1:%d/postgres?sslmode=disable", p.port)
	return p, p.Start(ctx)
}

// Start starts a server that was stopped, on the port that it had.
func (p *Postgres) Start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(p.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.process = p.command(context.WithoutCancel(ctx), "postgres", "-D", p.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(p.port),
		"-c", "unix_socket_directories=", "-c", "max_connections=50")
	p.process.Stdout, p.process.Stderr = log, log
	if err := p.process.Start(); err != nil {
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}
	p.ended = make(chan struct{})
	go func() {
		_ = p.process.Wait()
		close(p.ended)
	}()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		ready := p.command(ctx, "pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port))
		if ready.Run() == nil {
			return nil
		}
		select {
		case <-p.ended:
			text, _ := os.ReadFile(filepath.Join(p.folder, "log"))
			return fmt.Errorf("PostgreSQL has ended: %s", text)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("PostgreSQL does not answer")
}

// Stop ends the server immediately, and breaks its clients' connections; committed data stays.
func (p *Postgres) Stop() {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Signal(syscall.SIGINT) // fast shutdown
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.process.Process.Kill()
		<-p.ended
	}
	p.process = nil
}

// Remove ends the server and deletes its data.
func (p *Postgres) Remove() error {
	p.Stop()
	return os.RemoveAll(p.folder)
}

// Psql runs statements as psql prints them, without headings.
func (p *Postgres) Psql(ctx context.Context, statements string) (string, error) {
	output, err := p.command(ctx, "psql", "-d", p.DSN, "-v", "ON_ERROR_STOP=1", "-qAtc", statements).CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("psql: %w: %s", err, output)
	}
	return string(output), nil
}

func (p *Postgres) data() string { return filepath.Join(p.folder, "data") }

func (p *Postgres) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(p.programs, program), args...)
	command.Dir = p.folder
	endWithParent(command)
	command.SysProcAttr = withAccount(command.SysProcAttr, p.account)
	return command
}

func withAccount(attributes *syscall.SysProcAttr, account *syscall.Credential) *syscall.SysProcAttr {
	if account != nil {
		if attributes == nil {
			attributes = &syscall.SysProcAttr{}
		}
		attributes.Credential = account
	}
	return attributes
}

// postgresPrograms is the folder of the newest PostgreSQL here: Debian's are not on
// PATH.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", errors.New("there is no PostgreSQL: make test installs it")
	}
	return filepath.Dir(path), nil
}

// postgresAccount is who runs the server where this process is root, which it refuses.
func postgresAccount() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// Address is where it listens.
func (p *Postgres) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }
