//! Operations on the registry: register, dispose, reload, list, collect.
//!
//! Each contributor is its own plugin: disposal ends exactly its registration. Nothing is registered that the operation
//! did not spell out.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::room::Room;
use super::sessions::live;
use super::{Came, OpError, fields};
use crate::fault::Fault;
use crate::fault::environment::Mode;
use crate::registry::{Declaration, Execution, Registration, Resolved, Resolver, Variable};

const DESCRIPTION: &str = "A variable of the conformance driver.";
const UNDECLARED_KEY: &str = "DSH_E2E_UNDECLARED";

/// A contributor over all its mounts.
#[derive(Debug)]
pub(super) struct State {
    op: Value,
    runs: Rc<Cell<u64>>,
    registration: Registration,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Register {
    contributor: String,
    name: Option<String>,
    #[serde(default)]
    variables: Value,
    #[serde(default)]
    values: Map<String, Value>,
    #[serde(default)]
    behaviour: Behaviour,
    #[serde(default)]
    missing: Vec<Part>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What a resolver does.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Behaviour {
    #[default]
    Values,
    Counting,
    Session,
    None,
    Throws,
    Undeclared,
    Reserved,
    NonString,
    Undefined,
}

/// A part of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Name,
    Variables,
    Resolve,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    contributor: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Collect {
    session: Option<String>,
}

/// `register {contributor, variables, values? | behaviour?, missing?, name?}`.
pub(super) fn register(room: &mut Room, mut op: Register) -> Came {
    let name = op
        .rest
        .get("as")
        .and_then(Value::as_str)
        .unwrap_or(&op.contributor)
        .to_owned();
    if room.contributors.contains_key(&name) {
        return Err(format!("the contributor name \"{name}\" is taken").into());
    }
    let runs = Rc::new(Cell::new(0));
    let registration = mount(room, &op, &runs)?;
    op.rest.remove("as");
    let kept = Value::Object(op.rest.clone());
    let mut state = State {
        op: kept,
        runs,
        registration,
    };
    state.op = remembered(&op);
    room.contributors.insert(name, state);
    Ok(json!({"declared": declared(room)}))
}

/// `dispose_contributor {contributor}`: ends the owning plugin and nothing else.
pub(super) fn dispose(room: &mut Room, op: &Named) -> Came {
    let state = room
        .contributors
        .remove(&op.contributor)
        .ok_or_else(|| unknown(&op.contributor))?;
    room.host.registry.borrow_mut().dispose(state.registration);
    Ok(json!({"runs": state.runs.get(), "declared": declared(room)}))
}

/// `reload_contributor {contributor, changed fields}`: disposed of, then mounted again, changed.
pub(super) fn reload(room: &mut Room, op: &Value) -> Came {
    let Named { contributor } = fields(op)?;
    let state = room
        .contributors
        .remove(&contributor)
        .ok_or_else(|| unknown(&contributor))?;
    room.host.registry.borrow_mut().dispose(state.registration);
    let between = declared(room);
    let mut merged = state.op.clone();
    for (key, value) in op.as_object().into_iter().flatten() {
        merged[key] = value.clone();
    }
    let registration = mount(room, &fields(&merged)?, &state.runs)?;
    let runs = state.runs.get();
    room.contributors.insert(
        contributor,
        State {
            op: merged,
            registration,
            ..state
        },
    );
    Ok(json!({"runs": runs, "between": between, "declared": declared(room)}))
}

/// `list`: every declaration, and how often each of our resolvers had run before and after asking.
pub(super) fn list(room: &mut Room) -> Value {
    let before = runs(room);
    let declared = room.host.registry.borrow().list();
    json!({"declared": declared, "before": before, "after": runs(room)})
}

/// `collect {session?}`: the managed values as the bash tool would get them.
pub(super) fn collect(room: &mut Room, op: &Collect) -> Came {
    let agent = op
        .session
        .as_deref()
        .map(|name| live(room, name))
        .transpose()?;
    let overlay = room
        .host
        .overlay(agent.as_ref().map(|agent| agent.header()), Mode::Foreground)?;
    let frozen = !room.host.faults.has(Fault::OverlayNotFrozen);
    Ok(json!({"env": overlay, "frozen": frozen, "runs": runs(room)}))
}

fn mount(room: &Room, op: &Register, runs: &Rc<Cell<u64>>) -> Result<Registration, OpError> {
    if !room.host.revision.has_registry() {
        return Err("this revision has no registry".into());
    }
    let has = |part: Part| !op.missing.contains(&part);
    let declaration = Declaration {
        name: has(Part::Name).then(|| op.name.clone().unwrap_or_else(|| op.contributor.clone())),
        variables: if has(Part::Variables) {
            variables(&op.variables)
        } else {
            Vec::new()
        },
        resolver: has(Part::Resolve).then(|| resolver(op, runs)),
    };
    Ok(room.host.registry.borrow_mut().register(declaration)?)
}

/// `variables` maps each key to its description, or lists keys; a null description is left out.
fn variables(value: &Value) -> Vec<Variable> {
    match value {
        Value::Array(keys) => keys
            .iter()
            .filter_map(Value::as_str)
            .map(|key| Variable {
                key: key.to_owned(),
                description: Some(DESCRIPTION.to_owned()),
            })
            .collect(),
        Value::Object(described) => described
            .iter()
            .map(|(key, text)| Variable {
                key: key.clone(),
                description: text.as_str().map(str::to_owned),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn resolver(op: &Register, runs: &Rc<Cell<u64>>) -> Resolver {
    let (op, runs) = (op.clone(), Rc::clone(runs));
    Rc::new(move |execution: Execution<'_>| {
        runs.set(runs.get() + 1);
        resolved(&op, runs.get(), execution)
    })
}

fn resolved(op: &Register, run: u64, execution: Execution<'_>) -> Resolved {
    let each = |value: Value| {
        Ok(variables(&op.variables)
            .into_iter()
            .map(|one| (one.key, value.clone()))
            .collect())
    };
    let one = |key: &str, value: &str| Ok(Map::from_iter([(key.to_owned(), json!(value))]));
    match op.behaviour {
        Behaviour::Values => Ok(op.values.clone()),
        Behaviour::Counting => each(json!(run.to_string())),
        Behaviour::Session => each(json!(
            execution
                .agent
                .map_or("no agent", |header| header.id.as_str())
        )),
        Behaviour::None => Ok(Map::new()),
        Behaviour::Throws => Err("the resolver of the conformance driver throws".to_owned()),
        Behaviour::Undeclared => one(UNDECLARED_KEY, "x"),
        Behaviour::Reserved => one(crate::environment::SESSION_ID, "forged"),
        Behaviour::NonString => each(json!(5)),
        Behaviour::Undefined => each(Value::Null),
    }
}

/// The operation as it is merged with a later `reload_contributor`.
fn remembered(op: &Register) -> Value {
    let mut kept = Value::Object(op.rest.clone());
    kept["contributor"] = json!(op.contributor);
    kept["variables"] = op.variables.clone();
    kept["values"] = json!(op.values);
    if let Some(name) = &op.name {
        kept["name"] = json!(name);
    }
    kept
}

fn unknown(name: &str) -> OpError {
    format!("no contributor named \"{name}\"").into()
}

fn declared(room: &Room) -> Vec<String> {
    let listed = room.host.registry.borrow().list();
    listed
        .iter()
        .map(|one| format!("{}:{}", one.contributor, one.key))
        .collect()
}

fn runs(room: &Room) -> BTreeMap<String, u64> {
    room.contributors
        .iter()
        .map(|(name, state)| (name.clone(), state.runs.get()))
        .collect()
}
