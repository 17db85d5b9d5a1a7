package serving

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

const (
	crlSource = "crl-source"
	// keysVolume has the key of the Certificate.
	keysVolume = "keys"

	confFolder   = "/etc/puppetlabs/puppet"
	codeFolder   = "/etc/puppetlabs/code"
	serverFolder = "/etc/puppetlabs/puppetserver"
	sslFolder    = confFolder + "/ssl"
	crlFolder    = confFolder + "/crl"
	lintelFolder = "/etc/puppetlabs/lintel"
	spoolFolder  = "/var/spool/openvox-report"
)

// mounted is a file of a Config and where a server reads it.
type mounted struct{ file, path string }

// mounts are the files that a server reads: others of its Config do not concern it.
func (f serverFacts) mounts() []mounted {
	conf, auth := serverFolder+"/conf.d/", "auth.conf"
	if f.server.Spec.CA && f.files[configfiles.CAAuthFile] != "" { // it has none of a Config that is paused since before
		auth = configfiles.CAAuthFile
	}
	list := []mounted{
		{"puppet.conf", confFolder + "/puppet.conf"},
		{"puppetdb.conf", confFolder + "/puppetdb.conf"},
		{"logback.xml", serverFolder + "/logback.xml"},
		{auth, conf + "auth.conf"},
		{"metrics.conf", conf + "metrics.conf"},
		{"product.conf", conf + "product.conf"},
		{"puppetserver.conf", conf + "puppetserver.conf"},
	}
	if f.compiles() && f.files[configfiles.RoutesFile] != "" {
		list = append(list, mounted{configfiles.RoutesFile, confFolder + "/" + configfiles.RoutesFile})
	}
	if f.server.Spec.CA {
		return append(list, mounted{"ca.conf", conf + "ca.conf"}, mounted{"webserver-ca.conf", conf + "webserver.conf"}, mounted{"ca-enabled.cfg", serverFolder + "/services.d/ca.cfg"})
	}
	return append(list, mounted{"webserver.conf", conf + "webserver.conf"}, mounted{"ca-disabled.cfg", serverFolder + "/services.d/ca.cfg"})
}

func (f serverFacts) filesHash() string {
	used := map[string]string{}
	for _, m := range f.mounts() {
		used[m.file] = f.files[m.file]
	}
	if f.sendsReports() {
		used[configfiles.ReportProcessorFile] = f.files[configfiles.ReportProcessorFile]
	}
	return configfiles.Hash(used)
}

func (f serverFacts) volumes() (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	add := func(name string, source corev1.VolumeSource, readOnly bool, mountPath string) {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: mountPath, ReadOnly: readOnly})
	}
	pair := layout.TLSSecret(f.server.Spec.CertificateRef)
	for _, writable := range []struct{ name, path string }{
		{"ssl", sslFolder}, {"run", "/run/puppetserver"}, {"run-puppet", "/run/puppetlabs"}, {"cache", "/opt/puppetlabs/puppet/cache"},
		{"log", "/var/log/puppetlabs"}, {"tmp", "/tmp"},
	} {
		add(writable.name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, writable.path)
	}
	add("certificates", projected(secretFile(pair, layout.CertificateFile, "puppet.pem"), secretFile(layout.CASecret(f.ca), layout.CAFile, "ca.pem")), true, sslFolder+"/certs")
	add(keysVolume, projected(secretFile(pair, layout.KeyFile, "puppet.pem")), true, sslFolder+"/private_keys")
	var followed []corev1.VolumeProjection // as it changes, since it is mounted as a folder
	if f.server.Spec.CA {
		policies := secretFile(layout.AutosignSecret(f.ca.Name), layout.PolicyFile, layout.PolicyFile)
		policies.Secret.Optional = new(true) // while another owner has the Secret, the hook signs nothing
		followed = append(followed, policies)
		add("ca", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: layout.CAClaim(f.ca.Name)}}, false, layout.CAFolder)
	} else {
		add("crl", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, true, crlFolder)
		volumes = append(volumes, corev1.Volume{Name: crlSource, VolumeSource: projected(secretFile(layout.CRLSecret(f.ca.Name), layout.CRLFile, layout.CRLFile))})
	}

	below := func(path string) string { return strings.TrimPrefix(path, lintelFolder+"/") }
	if f.compiles() && f.classifier != nil {
		followed = append(followed, secretFile(classifierSecret(f.config.Name), endpoints.ClassifierKey, below(endpoints.ClassifierFile)))
		if cache := f.classifier.Spec.Cache; cache != nil && cache.Enabled {
			add("classifications", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, cache.Directory)
		}
	}
	if f.sendsReports() {
		endpoints := secretFile(reportsSecret(f.config.Name), endpoints.ReportsKey, below(endpoints.ReportsFile))
		endpoints.Secret.Optional = new(true) // it may be created after the files that refer to it
		followed = append(followed, endpoints, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(f.config.Name)},
			Items:                []corev1.KeyToPath{{Key: configfiles.ReportProcessorFile, Path: below(configfiles.ReportsFolder) + "/" + configfiles.ReportProcessorFile}},
		}})
		add("reports", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, spoolFolder)
	}
	if len(followed) > 0 {
		add("lintel", projected(followed...), true, lintelFolder)
	}

	config := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(f.config.Name)}}
	for _, m := range f.mounts() {
		config.Items = append(config.Items, corev1.KeyToPath{Key: m.file, Path: m.file})
		mounts = append(mounts, corev1.VolumeMount{Name: "config", MountPath: m.path, SubPath: m.file, ReadOnly: true})
	}
	volumes = append(volumes, corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &config}}, corev1.Volume{
		Name: "server-conf", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: configfiles.ServerConf, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + serverConf + "']"},
		}}}},
	})
	return volumes, append(mounts, corev1.VolumeMount{
		Name: "server-conf", MountPath: serverFolder + "/conf.d/" + configfiles.ServerConf, SubPath: configfiles.ServerConf, ReadOnly: true,
	})
}

// secretFile is a key of a Secret as a file.
func secretFile(name, key, path string) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: key, Path: path}},
	}}
}

// projected is a folder, whose files follow their sources.
func projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o440)), Sources: sources}}
}
