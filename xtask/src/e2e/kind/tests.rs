//! Tests of the commands of kind, and of what happens to a cluster when one fails.

use super::*;

fn cluster(options: &Options) -> Cluster {
    Cluster::from_options(options, "1a2b", Path::new("run"))
}

fn kubeconfig() -> String {
    Path::new("run").join("kubeconfig").display().to_string()
}

#[test]
fn create_names_cluster_image_and_own_kubeconfig() {
    assert_eq!(
        shell::describe(&cluster(&Options::binaries()).create()),
        format!(
            "kind create cluster --name informers-e2e-1a2b --image kindest/node:v1.37.0 \
             --kubeconfig {} --wait 180s --retain",
            kubeconfig()
        )
    );
}

#[test]
fn create_follows_the_options() {
    let options = Options {
        kind_name: Some("mine".to_owned()),
        kind_image: Some("local/node:1".to_owned()),
        kind_config: Some("kind.yaml".into()),
        ..Options::binaries()
    };
    assert_eq!(
        shell::describe(&cluster(&options).create()),
        format!(
            "kind create cluster --name mine --image local/node:1 --kubeconfig {} \
             --wait 180s --retain --config kind.yaml",
            kubeconfig()
        )
    );
}

#[test]
fn image_follows_the_version() {
    let options = Options {
        kubernetes: "1.34".parse().expect("a known version"),
        ..Options::binaries()
    };
    assert_eq!(cluster(&options).image, "kindest/node:v1.34.0");
}

#[test]
fn logs_and_deletion_name_the_same_cluster() {
    let cluster = cluster(&Options::binaries());
    assert_eq!(
        shell::describe(&cluster.export_logs(Path::new("logs"))),
        "kind export logs logs --name informers-e2e-1a2b"
    );
    assert_eq!(
        shell::describe(&cluster.delete()),
        format!(
            "kind delete cluster --name informers-e2e-1a2b --kubeconfig {}",
            kubeconfig()
        )
    );
}

/// With a script in place of kind that notes its first two arguments.
#[cfg(unix)]
mod with_a_script {
    use std::fs;

    use super::*;

    struct Double {
        folder: TempDir,
    }

    impl Double {
        /// `create` is what the script does when it is asked to create a cluster.
        fn new(create: &str) -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let script = format!(
                "echo \"$1 $2\" >> {}\ncase $1 in\nget) echo theirs;;\n\
                 create) {create};;\nesac\n",
                folder.path().join("log").display()
            );
            let path = folder.path().join("kind");
            fs::write(&path, script).expect("written");
            Self { folder }
        }

        fn start(&self, name: &str, interrupt: &Interrupt) -> Result<Kind> {
            let cluster = Cluster {
                // Not executed itself: a file just written may still be busy.
                kind: vec!["sh".into(), self.folder.path().join("kind").into()],
                name: name.to_owned(),
                ..cluster(&Options::binaries())
            };
            let folder = tempfile::tempdir().expect("a temporary folder");
            Kind::create(cluster, self.folder.path().join("logs"), folder, interrupt)
        }

        fn log(&self) -> Vec<String> {
            let log = fs::read_to_string(self.folder.path().join("log")).expect("the log");
            log.lines().map(str::to_owned).collect()
        }
    }

    #[test]
    fn cluster_is_deleted_once_after_the_run() {
        let double = Double::new("true");
        let kind = double
            .start("ours", &Interrupt::default())
            .expect("created");
        Box::new(kind).stop(false).expect("deleted");
        assert_eq!(
            double.log(),
            ["get clusters", "create cluster", "delete cluster"]
        );
    }

    #[test]
    fn logs_are_collected_before_deletion_when_the_run_failed() {
        let double = Double::new("true");
        let kind = double
            .start("ours", &Interrupt::default())
            .expect("created");
        Box::new(kind).stop(true).expect("deleted");
        assert_eq!(
            double.log(),
            [
                "get clusters",
                "create cluster",
                "export logs",
                "delete cluster"
            ]
        );
    }

    #[test]
    fn cluster_that_could_not_be_created_is_deleted() {
        let double = Double::new("exit 1");
        assert!(double.start("ours", &Interrupt::default()).is_err());
        assert_eq!(
            double.log(),
            [
                "get clusters",
                "create cluster",
                "export logs",
                "delete cluster"
            ]
        );
    }

    #[test]
    fn cluster_is_deleted_when_interrupted_while_it_is_created() {
        let double = Double::new("while true; do sleep 0.01; done");
        let interrupt = Interrupt::default();
        interrupt.raise();
        let error = double.start("ours", &interrupt).err().expect("interrupted");
        assert_eq!(error.to_string(), "interrupted");
        assert_eq!(
            double.log().last().map(String::as_str),
            Some("delete cluster")
        );
    }

    #[test]
    fn cluster_of_someone_else_is_left_alone() {
        let double = Double::new("exit 1");
        let error = double
            .start("theirs", &Interrupt::default())
            .err()
            .expect("refused");
        assert_eq!(error.to_string(), "there is a kind cluster theirs already");
        assert_eq!(double.log(), ["get clusters"]);
    }
}
