//! The fake model, as the drive sees it.

use std::sync::Mutex;

use fake_model::{Events, FakeModel};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use harness::clock::Moment;
use harness::drive::{HostError, ModelHost, Tenant};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A fake model whose journal is told on the run's clock.
pub(crate) struct Scripted {
    model: FakeModel,
    /// The model's own zero, in microseconds of the run's clock.
    zero_us: u64,
    stray: Mutex<Events>,
}

struct ScriptedTenant {
    tenant: fake_model::Tenant,
    zero_us: u64,
}

impl Scripted {
    /// Starts the model; `origin` is the run's own zero.
    pub(crate) async fn start(origin: Moment) -> std::io::Result<Self> {
        let zero_us = Moment::now().since(origin).0;
        let mut model = FakeModel::start().await?;
        let stray = model
            .stray_events()
            .ok_or_else(|| std::io::Error::other("the stray journal is taken"))?;
        Ok(Self {
            model,
            zero_us,
            stray: Mutex::new(stray),
        })
    }

    /// Ends the model, held requests included.
    pub(crate) async fn shutdown(self) {
        self.model.shutdown().await;
    }
}

impl ModelHost for Scripted {
    fn tenant(&self, name: &str, script: Value) -> Result<Box<dyn Tenant>, HostError> {
        let tenant = self
            .model
            .tenant(name, &script)
            .map_err(|error| HostError {
                what: format!("the model's script of `{name}`: {error}"),
            })?;
        Ok(Box::new(ScriptedTenant {
            tenant,
            zero_us: self.zero_us,
        }))
    }

    fn stray(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Ok(mut stray) = self.stray.lock() {
            while let Some(event) = stray.try_recv() {
                found.push(serde_json::to_string(&event).unwrap_or_default());
            }
        }
        found
    }
}

impl Tenant for ScriptedTenant {
    fn base_url(&self) -> String {
        self.tenant.base_url()
    }

    fn open(&self, gate: &str) {
        // A gate that no reply of this tenant waits for is unknown to it, and nothing has to happen.
        self.tenant.open(gate).ok();
    }

    fn journal(&mut self) -> UnboundedReceiver<Value> {
        let (sender, receiver) = unbounded_channel();
        let Some(mut events) = self.tenant.take_events() else {
            return receiver;
        };
        let zero_us = self.zero_us;
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let mut event = json!(event);
                if let Some(t_us) = event.get("t_us").and_then(Value::as_u64) {
                    event["t_us"] = json!(t_us + zero_us);
                }
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Vec<(String, usize)>> {
        async move {
            let report = self.tenant.finish().await;
            report
                .unused
                .into_iter()
                .map(|step| (step.session, step.step))
                .collect()
        }
        .boxed()
    }
}
