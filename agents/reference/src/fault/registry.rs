//! Faults of the registry: refusals that are forgiven, and what should be gone and is not.
//!
//! Asked by the registry alone.

use super::{Fault, Faults};
use crate::environment::{Overlay, SESSION_JSONL};
use crate::registry::Declaration;
use crate::registry::refusal::RegistryError;

/// What a faulty registry remembers against its promise; empty without a fault.
#[derive(Debug, Default)]
pub struct Memory {
    left: Vec<Declaration>,
    undead: Vec<Declaration>,
    names: Vec<String>,
    first: Vec<Declaration>,
    values: Option<Overlay>,
}

impl Memory {
    /// A declaration was refused.
    pub fn refused(&mut self, faults: &Faults, declaration: &Declaration) {
        if faults.has(Fault::RefusalLeaves) {
            self.left.push(declaration.clone());
        }
    }

    /// A declaration was accepted; gives the one that is used.
    pub fn registered(&mut self, faults: &Faults, declaration: Declaration) -> Declaration {
        if !faults.has(Fault::ReloadKeepsValue) {
            return declaration;
        }
        if let Some(first) = self
            .first
            .iter()
            .find(|first| first.name == declaration.name)
        {
            return first.clone();
        }
        self.first.push(declaration.clone());
        declaration
    }

    /// Contributors were disposed of.
    pub fn disposed(&mut self, faults: &Faults, gone: impl Iterator<Item = Declaration>) {
        for declaration in gone {
            if faults.has(Fault::DisposalKeepsName) {
                self.names.extend(declaration.name.clone());
            }
            if faults.has(Fault::DisposalKeepsKey) {
                self.undead.push(declaration);
            }
        }
    }

    /// What refusals left in the list.
    pub fn left(&self) -> impl Iterator<Item = &Declaration> {
        self.left.iter()
    }

    /// What still resolves after its disposal.
    pub fn undead(&self) -> impl Iterator<Item = &Declaration> {
        self.undead.iter()
    }

    /// Whether a name is held by a contributor that is gone.
    pub fn holds_name(&self, name: &str) -> bool {
        self.names.iter().any(|held| held == name)
    }

    /// The values of the first call.
    pub fn remembered(&self, faults: &Faults) -> Option<Overlay> {
        self.values
            .clone()
            .filter(|_| faults.has(Fault::ResolveOnce))
    }

    /// Keeps the values of the first call that has any of a contributor's own.
    pub fn remember(&mut self, faults: &Faults, values: &Overlay) {
        if faults.has(Fault::ResolveOnce) && values.keys().any(|key| key != SESSION_JSONL) {
            self.values.get_or_insert_with(|| values.clone());
        }
    }
}

/// Whether a refusal is swallowed.
pub fn forgives(faults: &Faults, refusal: &RegistryError) -> bool {
    faults.has(match refusal {
        RegistryError::EmptyName => Fault::EmptyName,
        RegistryError::DuplicateName { .. } => Fault::DuplicateName,
        RegistryError::NoKeys { .. } => Fault::NoKeys,
        RegistryError::BadKey { .. } => Fault::BadKey,
        RegistryError::ReservedKey { .. } => Fault::ReservedKey,
        RegistryError::DuplicateKey { .. } => Fault::DuplicateKey,
        RegistryError::NoDescription { .. } => Fault::NoDescription,
        RegistryError::NoResolver { .. } => Fault::NoResolver,
        RegistryError::Undeclared { .. } => Fault::UndeclaredPasses,
        RegistryError::NonString { .. } => Fault::NonStringPasses,
        RegistryError::Failed { .. } => return false,
    })
}

/// Whether a list runs resolvers.
pub fn list_resolves(faults: &Faults) -> bool {
    faults.has(Fault::ListResolves)
}

/// The values that arrive.
pub fn arrived(faults: &Faults, mut values: Overlay) -> Overlay {
    if faults.has(Fault::ContributorDropped) {
        values.retain(|key, _| key == SESSION_JSONL);
    }
    values
}
