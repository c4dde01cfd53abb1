//! How a failed tool call looks: the text, and for classified failures the envelope beside it.
//!
//! Built by guard and tools, rendered by the daemon. The words are those of the facts, section 3.

use serde_json::{Value, json};

use super::key;

/// What the caller may do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    FixArguments,
    PassForce,
    RepinWorkspace,
    EnablePolicy,
    InspectOutput,
}

impl Remedy {
    fn class(self) -> &'static str {
        match self {
            Self::FixArguments => "fix_arguments",
            Self::PassForce => "pass_force",
            Self::RepinWorkspace => "repin_workspace",
            Self::EnablePolicy => "enable_policy",
            Self::InspectOutput => "inspect_output",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::FixArguments => "Correct the call's arguments and retry.",
            Self::PassForce => "The pin is sticky; call session_start again with force: true.",
            Self::RepinWorkspace => {
                "This connection is not pinned to the project the path belongs to; re-pin it with session_start, then retry."
            }
            Self::EnablePolicy => "The project's policy does not allow this; ask its owner.",
            Self::InspectOutput => "Read the output and decide.",
        }
    }

    fn is_retryable(self) -> bool {
        !matches!(self, Self::EnablePolicy | Self::InspectOutput)
    }
}

/// The classified part of a failure.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: &'static str,
    pub(crate) operation: String,
    pub(crate) remedy: Remedy,
    /// The value of `details.scope`.
    pub(crate) scope: Option<&'static str>,
}

impl Envelope {
    /// The object as it stands in `_meta` of a result, or as `data` of an error.
    pub(crate) fn to_value(&self) -> Value {
        let mut remediation =
            json!({ "class": self.remedy.class(), "reason": self.remedy.reason() });
        if self.remedy == Remedy::RepinWorkspace {
            remediation["tool"] = "session_start".into();
        }
        let mut value = json!({
            "kind": self.kind,
            "operation": self.operation,
            "remediation": remediation,
            "retryable": self.remedy.is_retryable(),
        });
        if let Some(scope) = self.scope {
            value["details"] = json!({ "scope": scope });
        }
        value
    }

    /// Arguments that the caller has to correct.
    pub(crate) fn invalid_arguments(operation: &str) -> Self {
        Self {
            kind: "invalid_arguments",
            operation: operation.to_owned(),
            remedy: Remedy::FixArguments,
            scope: None,
        }
    }
}

/// A tool call that did not succeed; the text comes after `error: `.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) text: String,
    pub(crate) envelope: Option<Envelope>,
}

impl Failure {
    /// A failure without a class.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            envelope: None,
        }
    }

    /// The result of the call.
    pub(crate) fn to_result(&self) -> Value {
        let text = format!("error: {}", self.text);
        let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
        if let Some(envelope) = &self.envelope {
            result["_meta"] = json!({ key::ERROR: envelope.to_value() });
        }
        result
    }
}
