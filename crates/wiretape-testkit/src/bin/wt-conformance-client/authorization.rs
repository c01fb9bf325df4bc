//! OAuth tokens: discovery, registration, authorization and exchange are the SDK's. Only the browser is ours, which
//! follows the authorization page's redirect as if the user had consented.

use std::collections::BTreeSet;

use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use rmcp::transport::auth::{AuthError, AuthorizationRequest, ClientCredentialsConfig, OAuthState};
use tokio::sync::Mutex;

use crate::scenario::Scenario;

const REDIRECT: &str = "http://localhost:3000/callback";
/// The client id metadata document that the suite expects.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";
/// The maximum number of authorizations in a session, for servers that reject every token.
const MOST_AUTHORIZATIONS: u32 = 3;

/// A server's authentication challenge.
pub(crate) struct Challenge {
    /// The value of the header `WWW-Authenticate`.
    pub(crate) header: String,
    /// The scope that the token lacks, if a token was sent.
    pub(crate) missing_scope: Option<String>,
}

/// Obtains and holds the token of a session.
pub(crate) struct Authorizer {
    url: String,
    scenario: Scenario,
    state: Mutex<AuthorizationState>,
}

#[derive(Default)]
struct AuthorizationState {
    token: Option<String>,
    scopes: BTreeSet<String>,
    authorizations: u32,
}

impl Authorizer {
    pub(crate) fn new(url: &str, scenario: &Scenario) -> Self {
        Self { url: url.to_owned(), scenario: scenario.clone(), state: Mutex::default() }
    }

    pub(crate) async fn token(&self) -> Option<String> {
        self.state.lock().await.token.clone()
    }

    /// Replaces a token that was rejected, and returns whether there is a new one. Of several requests that were
    /// rejected together, only the first authorizes.
    pub(crate) async fn replace(
        &self,
        refused: Option<String>,
        challenge: Challenge,
    ) -> Result<bool, AuthError> {
        let mut state = self.state.lock().await;
        if state.token != refused {
            return Ok(true);
        }
        if state.authorizations == MOST_AUTHORIZATIONS {
            return Ok(false);
        }
        state.authorizations += 1;
        self.authorize(&mut state, challenge).await?;
        Ok(true)
    }

    async fn authorize(&self, state: &mut AuthorizationState, challenge: Challenge) -> Result<(), AuthError> {
        let mut oauth = OAuthState::new(&self.url, None).await?;
        if self.scenario.name == "auth/client-credentials-basic" {
            oauth.authenticate_client_credentials(self.credentials()).await?;
        } else {
            oauth.start_authorization(self.request(state, challenge)).await?;
            let consent = consent(&oauth.get_authorization_url().await?).await?;
            oauth.handle_callback_url(&consent).await?;
        }
        let manager = oauth.into_authorization_manager();
        let manager = manager.ok_or_else(|| AuthError::InternalError("not authorized".to_owned()))?;
        state.token = Some(manager.get_access_token().await?);
        state.scopes.extend(manager.get_current_scopes().await);
        Ok(())
    }

    fn request(&self, state: &AuthorizationState, challenge: Challenge) -> AuthorizationRequest {
        let mut request = AuthorizationRequest::new(REDIRECT)
            .with_client_name("wt-conformance-client")
            .with_client_metadata_url(CLIENT_METADATA)
            .with_challenge(challenge.header);
        if let Some(missing) = &challenge.missing_scope {
            // A token with more scopes must keep those that it had.
            let scopes = missing.split(' ').map(str::to_owned).chain(state.scopes.iter().cloned());
            request = request.with_scopes(scopes.collect::<BTreeSet<_>>());
        }
        let context = &self.scenario.context;
        if let (Some(id), Some(secret)) = (&context.client_id, &context.client_secret) {
            request = request.with_preregistered_client(id).with_client_secret(secret);
        }
        request
    }

    fn credentials(&self) -> ClientCredentialsConfig {
        let context = &self.scenario.context;
        ClientCredentialsConfig::ClientSecret {
            client_id: context.client_id.clone().unwrap_or_default(),
            client_secret: context.client_secret.clone().unwrap_or_default(),
            scopes: Vec::new(),
            resource: Some(self.url.clone()),
        }
    }
}

/// The URL that the authorization page redirects to, with the user's consent taken for granted.
async fn consent(page: &str) -> Result<String, AuthError> {
    let browser = reqwest::Client::builder().redirect(Policy::none()).build()?;
    let answer = browser.get(page).send().await?;
    let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let none = || AuthError::AuthorizationFailed(format!("no redirect but {}", answer.status()));
    location.map(str::to_owned).ok_or_else(none)
}
