//! Provisioning against clients that are shell scripts: every failure, no network.
