// SPDX-License-Identifier: Apache-2.0

// Command kube holds a whole Kubernetes control plane and kubectl. The first argument says which
// part of it a process is; control_plane.py starts them.
//
//	kube etcd DATA_DIR CLIENT_URL PEER_URL
//	kube apiserver|controller-manager|scheduler FLAG...
//	kube kubectl ARGUMENT...
package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const etcdStart = 60 * time.Second

var parts = map[string]func() *cobra.Command{
	"apiserver":          apiserver.NewAPIServerCommand,
	"controller-manager": manager.NewControllerManagerCommand,
	"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":            kubectl.NewDefaultKubectlCommand,
}

func main() {
	if len(os.Args) < 2 {
		end(errors.New("usage: kube etcd|apiserver|controller-manager|scheduler|kubectl ARGUMENT..."))
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	if part == "etcd" {
		end(etcd(os.Args[1:]))
	}
	command, known := parts[part]
	if !known {
		end(fmt.Errorf("kube: no part is called %q", part))
	}
	if part == "kubectl" {
		end(cli.RunNoErrOutput(command())) // prints the error as kubectl does, and not twice
	}
	os.Exit(cli.Run(command()))
}

func end(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// One member without fsync: what it holds ends with the test.
func etcd(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("usage: kube etcd DATA_DIR CLIENT_URL PEER_URL")
	}
	client, err := url.Parse(arguments[1])
	if err != nil {
		return err
	}
	peer, err := url.Parse(arguments[2])
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = arguments[0]
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	member, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer member.Close()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, os.Interrupt)
	timeout := time.After(etcdStart)
	ready := member.Server.ReadyNotify()
	for {
		select {
		case <-ready:
			ready, timeout = nil, nil
		case <-timeout:
			return fmt.Errorf("etcd is not ready after %s", etcdStart)
		case <-told:
			return nil
		case err := <-member.Err():
			return err
		}
	}
}
