//! The guard over made-up machines: the vectors of `tests/data/guard-vectors.toml`, and a law over all combinations.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use harness::guard::{Admitted, Request, admit};
use harness::host::HostFacts;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    vector: Vec<Vector>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Vector {
    title: String,
    os: Option<String>,
    env: BTreeMap<String, String>,
    markers: BTreeSet<PathBuf>,
    programs: BTreeSet<PathBuf>,
    plumb: Option<String>,
    jobs: Option<usize>,
    repeat: Option<usize>,
    admitted: Option<String>,
    refused: Option<String>,
}

/// The answer in words.
fn answer(vector: &Vector) -> Result<String, String> {
    let mut env: BTreeMap<OsString, OsString> = [("HOME".into(), "/h".into())].into();
    env.extend(
        vector
            .env
            .iter()
            .map(|(key, value)| (key.into(), value.into())),
    );
    let os = vector.os.as_deref().unwrap_or("linux");
    let facts = HostFacts::gather(&env, os, "/w/suite".into(), &|marker| {
        vector.markers.contains(marker)
    });
    let request = Request {
        plumb: vector.plumb.clone(),
        jobs: vector.jobs,
        repeat: vector.repeat.unwrap_or(1),
    };
    match admit(&facts, &request, &|program: &Path| {
        vector.programs.contains(program)
    }) {
        Ok(Admitted::Fake) => Ok("fake".to_owned()),
        Ok(Admitted::Real(real)) => Ok(format!(
            "{} by {}, {}, {}",
            real.program.display(),
            real.source,
            real.isolation,
            real.evidence
        )),
        Err(error) => {
            assert!(!error.hint().is_empty());
            Err(error.to_string())
        }
    }
}

#[test]
fn the_guard_decides_as_its_vectors_say() {
    let vectors: Vectors = toml::from_str(include_str!("../data/guard-vectors.toml")).unwrap();
    assert!(vectors.vector.len() > 30);
    for vector in &vectors.vector {
        let (title, answer) = (&vector.title, answer(vector));
        match (&vector.admitted, &vector.refused) {
            (Some(admitted), None) => assert_eq!(answer.as_ref(), Ok(admitted), "{title}"),
            (None, Some(part)) => {
                let words = answer.expect_err(title);
                assert!(words.contains(part.as_str()), "{title}: {words}");
            }
            _ => panic!("{title}: says neither or both of `admitted` and `refused`"),
        }
    }
}

/// A variable that is unset, right, or nearly right.
fn value(right: &'static str) -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some(right.to_owned())),
        Just(Some(String::new())),
        Just(Some(format!("{right} "))),
        Just(Some(right.to_uppercase())),
        "[a-z0-9]{1,5}".prop_map(Some),
    ]
}

prop_compose! {
    fn any_vector()(
        github in value("true"),
        separate in value("vm"),
        namespace in value("nst-1"),
        isolation in prop_oneof![Just(None), Just(Some("daemon".to_owned())), Just(Some("namespace".to_owned()))],
        docker in any::<bool>(),
        podman in any::<bool>(),
        os in prop_oneof![Just("linux"), Just("macos"), Just("freebsd")],
        plumb in prop_oneof![Just("real"), Just("/w/plumb/plumb")],
    ) -> Vector {
        let env = [
            ("GITHUB_ACTIONS", github),
            ("PLUMB_SEPARATE_ENV", separate),
            ("PLUMB_NAMESPACE", namespace),
            ("E2E_ISOLATION", isolation),
        ];
        let markers = [("/.dockerenv", docker), ("/run/.containerenv", podman)];
        Vector {
            os: Some(os.to_owned()),
            env: env.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect(),
            markers: markers.into_iter().filter(|(_, there)| *there).map(|(marker, _)| marker.into()).collect(),
            programs: ["/w/plumb/plumb".into()].into(),
            plumb: Some(plumb.to_owned()),
            ..Vector::default()
        }
    }
}

proptest! {
    #[test]
    fn a_real_plumb_is_admitted_exactly_where_a_sign_of_separation_holds(vector in any_vector()) {
        let is = |key: &str, value: &str| vector.env.get(key).is_some_and(|it| it == value);
        let vm = is("PLUMB_SEPARATE_ENV", "vm") && vector.os.as_deref() == Some("linux");
        let separate = is("GITHUB_ACTIONS", "true") || !vector.markers.is_empty() || vm;
        prop_assert_eq!(answer(&vector).is_ok(), separate);
    }

    #[test]
    fn neither_a_namespace_nor_the_isolation_changes_the_answer(vector in any_vector()) {
        let mut plain = Vector { env: vector.env.clone(), ..vector };
        let with = answer(&plain).is_ok();
        plain.env.remove("PLUMB_NAMESPACE");
        plain.env.remove("E2E_ISOLATION");
        prop_assert_eq!(answer(&plain).is_ok(), with);
    }
}
