//! The registry of contributors: who may set which managed key, and what it is worth in one call.
//!
//! Declared once, resolved for every call. Everything wrong is refused loudly: at registration what can be seen there,
//! at the call what only the resolver shows. A refusal must never leave anything behind, and a list runs no resolver.

pub mod refusal;

use std::fmt;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::environment::{HOME, MANAGED_PREFIX, Overlay, SESSION_ID, SHELL};
use crate::fault::{self, Faults};
use crate::session::header::Header;
use refusal::RegistryError;

/// The keys that the harness sets itself.
pub const RESERVED: [&str; 3] = [HOME, SHELL, SESSION_ID];

/// One call of a tool, as a resolver sees it.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    /// The header of the session whose agent calls; none for a call without an agent.
    pub agent: Option<&'a Header>,
}

/// What a resolver answers: keys and values, or that it cannot.
pub type Resolved = Result<Map<String, Value>, String>;

/// Finds the values of one contributor for one call.
pub type Resolver = Rc<dyn Fn(Execution<'_>) -> Resolved>;

/// A key that a contributor may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The key.
    pub key: String,
    /// What it is for.
    pub description: Option<String>,
}

/// What a contributor declares; parts that are left out are refused.
#[derive(Clone, Default)]
pub struct Declaration {
    /// Its stable name.
    pub name: Option<String>,
    /// The keys that it may set.
    pub variables: Vec<Variable>,
    /// How their values are found.
    pub resolver: Option<Resolver>,
}

impl fmt::Debug for Declaration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Declaration")
            .field("name", &self.name)
            .field("variables", &self.variables)
            .finish_non_exhaustive()
    }
}

/// One declared key, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Who declared it.
    pub contributor: String,
    /// The key.
    pub key: String,
    /// What it is for.
    pub description: String,
}

/// A registration, for its disposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration(u64);

#[derive(Debug, Clone)]
struct Contributor {
    registration: Registration,
    declaration: Declaration,
}

impl Contributor {
    fn name(&self) -> &str {
        self.declaration.name.as_deref().unwrap_or_default()
    }
}

/// The registry.
#[derive(Debug, Default)]
pub struct Registry {
    contributors: Vec<Contributor>,
    registered: u64,
    faults: Faults,
    spoilt: fault::registry::Memory,
}

impl Registry {
    /// An empty registry.
    pub fn new(faults: Faults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    /// Takes a contributor in, or refuses it whole.
    pub fn register(&mut self, declaration: Declaration) -> Result<Registration, RegistryError> {
        let refusals = self.refusals(&declaration).into_iter();
        if let Some(refusal) = refusals
            .into_iter()
            .find(|refusal| !fault::registry::forgives(&self.faults, refusal))
        {
            self.spoilt.refused(&self.faults, &declaration);
            return Err(refusal);
        }
        self.registered += 1;
        let registration = Registration(self.registered);
        let declaration = self.spoilt.registered(&self.faults, declaration);
        self.contributors.push(Contributor {
            registration,
            declaration,
        });
        Ok(registration)
    }

    /// Lets a contributor go: its keys are gone from the next call, and name and keys are free.
    pub fn dispose(&mut self, registration: Registration) {
        let (gone, kept) = std::mem::take(&mut self.contributors)
            .into_iter()
            .partition(|one| one.registration == registration);
        self.contributors = kept;
        let gone: Vec<Contributor> = gone;
        self.spoilt
            .disposed(&self.faults, gone.into_iter().map(|one| one.declaration));
    }

    /// Every declared key. No resolver runs.
    pub fn list(&self) -> Vec<Listed> {
        let declarations = self.declarations();
        if fault::registry::list_resolves(&self.faults) {
            for declaration in &declarations {
                declaration
                    .resolver
                    .as_ref()
                    .map(|resolve| resolve(Execution { agent: None }));
            }
        }
        let listed = declarations
            .iter()
            .chain(self.spoilt.left())
            .flat_map(|declaration| {
                declaration.variables.iter().map(|variable| Listed {
                    contributor: declaration.name.clone().unwrap_or_default(),
                    key: variable.key.clone(),
                    description: variable.description.clone().unwrap_or_default(),
                })
            });
        listed.collect()
    }

    /// The values for one call: every resolver runs once, with that call's execution.
    pub fn resolve(&mut self, execution: Execution<'_>) -> Result<Overlay, RegistryError> {
        if let Some(values) = self.spoilt.remembered(&self.faults) {
            return Ok(values);
        }
        let mut values = Overlay::new();
        for declaration in self.declarations() {
            let name = declaration.name.clone().unwrap_or_default();
            let Some(resolve) = &declaration.resolver else {
                continue;
            };
            let resolved = resolve(execution).map_err(|what| RegistryError::Failed {
                name: name.clone(),
                what,
            })?;
            for (key, value) in resolved {
                if let Some(refusal) = unfit(&name, &declaration, &key, &value)
                    && !fault::registry::forgives(&self.faults, &refusal)
                {
                    return Err(refusal);
                }
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                values.insert(key, value);
            }
        }
        let values = fault::registry::arrived(&self.faults, values);
        self.spoilt.remember(&self.faults, &values);
        Ok(values)
    }

    fn declarations(&self) -> Vec<Declaration> {
        let living = self
            .contributors
            .iter()
            .map(|contributor| &contributor.declaration);
        self.spoilt.undead().chain(living).cloned().collect()
    }

    /// Everything that is wrong with a declaration.
    fn refusals(&self, declaration: &Declaration) -> Vec<RegistryError> {
        let name = declaration.name.clone().unwrap_or_default();
        let mut refusals = Vec::new();
        if name.trim().is_empty() {
            refusals.push(RegistryError::EmptyName);
        } else if self.contributors.iter().any(|one| one.name() == name)
            || self.spoilt.holds_name(&name)
        {
            refusals.push(RegistryError::DuplicateName { name: name.clone() });
        }
        if declaration.variables.is_empty() {
            refusals.push(RegistryError::NoKeys { name: name.clone() });
        }
        for (at, variable) in declaration.variables.iter().enumerate() {
            let (name, key) = (name.clone(), variable.key.clone());
            if !is_well_spelt(&key) {
                refusals.push(RegistryError::BadKey { name, key });
            } else if RESERVED.contains(&key.as_str()) {
                refusals.push(RegistryError::ReservedKey { name, key });
            } else if let Some(owner) = self.owner(&key) {
                refusals.push(RegistryError::DuplicateKey { name, key, owner });
            } else if declaration.variables[..at]
                .iter()
                .any(|earlier| earlier.key == key)
            {
                refusals.push(RegistryError::DuplicateKey {
                    owner: name.clone(),
                    name,
                    key,
                });
            }
        }
        let blank = |variable: &&Variable| {
            variable
                .description
                .as_deref()
                .unwrap_or_default()
                .trim()
                .is_empty()
        };
        refusals.extend(declaration.variables.iter().filter(blank).map(|variable| {
            RegistryError::NoDescription {
                name: name.clone(),
                key: variable.key.clone(),
            }
        }));
        if declaration.resolver.is_none() {
            refusals.push(RegistryError::NoResolver { name });
        }
        refusals
    }

    fn owner(&self, key: &str) -> Option<String> {
        let owns = |one: &&Contributor| {
            one.declaration
                .variables
                .iter()
                .any(|variable| variable.key == key)
        };
        self.contributors
            .iter()
            .find(owns)
            .map(|one| one.name().to_owned())
    }
}

/// What is wrong with a resolved value.
fn unfit(name: &str, declaration: &Declaration, key: &str, value: &Value) -> Option<RegistryError> {
    let (name, key) = (name.to_owned(), key.to_owned());
    if !declaration
        .variables
        .iter()
        .any(|variable| variable.key == key)
    {
        return Some(RegistryError::Undeclared { name, key });
    }
    (!value.is_string()).then_some(RegistryError::NonString { name, key })
}

/// `DSH_` and upper-case words of letters and digits between single underscores, the first of which starts with a letter.
fn is_well_spelt(key: &str) -> bool {
    let Some(rest) = key.strip_prefix(MANAGED_PREFIX) else {
        return false;
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    rest.split('_').all(is_word) && rest.starts_with(|first: char| first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn declaration(name: &str, keys: &[&str]) -> Declaration {
        let described = |key: &&str| Variable {
            key: (*key).to_owned(),
            description: Some("For a test.".to_owned()),
        };
        let values: Map<String, Value> = keys
            .iter()
            .map(|key| ((*key).to_owned(), json!("v")))
            .collect();
        Declaration {
            name: Some(name.to_owned()),
            variables: keys.iter().map(described).collect(),
            resolver: Some(Rc::new(move |_: Execution<'_>| Ok(values.clone()))),
        }
    }

    fn registry() -> Registry {
        let mut registry = Registry::default();
        registry.register(declaration("good", &["DSH_A"])).unwrap();
        registry
    }

    #[track_caller]
    fn refused(declaration: Declaration, expected: &str) {
        let mut registry = registry();
        let before = registry.list();
        assert_eq!(
            registry.register(declaration).unwrap_err().to_string(),
            expected
        );
        assert_eq!(registry.list(), before, "a refusal leaves nothing");
        assert_eq!(
            registry.resolve(Execution { agent: None }).unwrap().len(),
            1
        );
    }

    #[test]
    fn what_can_be_seen_at_registration_is_refused_there() {
        refused(
            declaration("good", &["DSH_B"]),
            r#"bash env contributor "good" is already registered"#,
        );
        refused(
            declaration("x", &["DSH_A"]),
            r#"bash env key "DSH_A" is already owned by contributor "good"; "x" cannot own it too"#,
        );
        refused(
            declaration("x", &["DSH_B", "DSH_B"]),
            r#"bash env key "DSH_B" is already owned by contributor "x"; "x" cannot own it too"#,
        );
        refused(
            declaration(" ", &["DSH_B"]),
            "the name of a bash env contributor must be non-empty",
        );
        refused(
            declaration("x", &[]),
            r#"bash env contributor "x" declares no key"#,
        );
        let nameless = Declaration {
            name: None,
            ..declaration("x", &["DSH_B"])
        };
        refused(
            nameless,
            "the name of a bash env contributor must be non-empty",
        );
        let undescribed = Variable {
            key: "DSH_B".to_owned(),
            description: Some(" ".to_owned()),
        };
        let undescribed = Declaration {
            variables: vec![undescribed],
            ..declaration("x", &[])
        };
        refused(
            undescribed,
            r#"bash env contributor "x" must describe "DSH_B""#,
        );
        let unresolved = Declaration {
            resolver: None,
            ..declaration("x", &["DSH_B"])
        };
        refused(
            unresolved,
            r#"bash env contributor "x" has no resolve function"#,
        );
        for key in RESERVED {
            refused(
                declaration("x", &[key]),
                &format!(r#"bash env contributor "x" cannot own reserved key "{key}""#),
            );
        }
        for key in [
            "FOO",
            "DSH_",
            "DSH_lower",
            "DSH_1X",
            "dsh_X",
            "DSH_A-B",
            "DSH_A=B",
            "DSH__X",
            "DSH_X_",
        ] {
            refused(
                declaration("x", &[key]),
                &format!(
                    r#"bash env contributor "x" declared invalid key "{key}": write DSH_A_B1"#
                ),
            );
        }
    }

    #[track_caller]
    fn fails(values: &Value, expected: &str) {
        let values = values.as_object().unwrap().clone();
        let resolver: Resolver = Rc::new(move |_: Execution<'_>| Ok(values.clone()));
        let mut registry = Registry::default();
        registry
            .register(Declaration {
                resolver: Some(resolver),
                ..declaration("x", &["DSH_B"])
            })
            .unwrap();
        assert_eq!(
            registry
                .resolve(Execution { agent: None })
                .unwrap_err()
                .to_string(),
            expected
        );
    }

    #[test]
    fn what_only_the_resolver_shows_fails_the_call() {
        let undeclared =
            |key: &str| format!(r#"bash env contributor "x" returned undeclared key "{key}""#);
        fails(&json!({"DSH_C": "v"}), &undeclared("DSH_C"));
        fails(
            &json!({"DSH_SESSION_ID": "v"}),
            &undeclared("DSH_SESSION_ID"),
        );
        for value in [json!(5), json!(null), json!(true), json!(["v"])] {
            fails(
                &json!({"DSH_B": value}),
                r#"bash env contributor "x" returned a non-string value for "DSH_B""#,
            );
        }
    }

    #[test]
    fn disposal_frees_name_and_keys_and_leaves_the_others() {
        let mut registry = registry();
        let one = registry.register(declaration("x", &["DSH_B"])).unwrap();
        registry.dispose(one);
        assert_eq!(registry.list().len(), 1);
        assert!(registry.register(declaration("x", &["DSH_B"])).is_ok());
    }
}
