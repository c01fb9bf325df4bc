//! An HTTP client that authorizes itself: when a server requires a token, or one with more scopes, it gets one and
//! repeats the request.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};

use crate::authorization::{Authorizer, Challenge};

type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

#[derive(Clone)]
pub(crate) struct AuthorizingClient {
    http: reqwest::Client,
    authorizer: Arc<Authorizer>,
}

impl AuthorizingClient {
    pub(crate) fn new(authorizer: Authorizer) -> Self {
        Self { http: reqwest::Client::new(), authorizer: Arc::new(authorizer) }
    }

    /// Makes a request with the current token, and again with each new one.
    async fn with_token<T, F>(&self, request: impl Fn(Option<String>) -> F) -> Result<T, HttpError>
    where
        F: Future<Output = Result<T, HttpError>>,
    {
        loop {
            let token = self.authorizer.token().await;
            let refused = match request(token.clone()).await {
                Err(error) => error,
                answered => return answered,
            };
            let Some(challenge) = challenge_in(&refused) else {
                return Err(refused);
            };
            if !self.authorizer.replace(token, challenge).await? {
                return Err(refused);
            }
        }
    }
}

fn challenge_in(error: &HttpError) -> Option<Challenge> {
    match error {
        StreamableHttpError::AuthRequired(error) => {
            Some(Challenge { header: error.www_authenticate_header.clone(), missing_scope: None })
        }
        StreamableHttpError::InsufficientScope(error) => Some(Challenge {
            header: error.www_authenticate_header.clone(),
            missing_scope: error.required_scope.clone(),
        }),
        _ => None,
    }
}

impl StreamableHttpClient for AuthorizingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let post = |token| {
            self.http.post_message(uri.clone(), message.clone(), session.clone(), token, headers.clone())
        };
        self.with_token(post).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        let delete = |token| self.http.delete_session(uri.clone(), session.clone(), token, headers.clone());
        self.with_token(delete).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let get = |token| {
            self.http.get_stream(uri.clone(), session.clone(), last_event.clone(), token, headers.clone())
        };
        self.with_token(get).await
    }
}
