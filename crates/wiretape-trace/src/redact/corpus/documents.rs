//! Documents as tools read and write them: configuration, credentials files, connection strings, keys, dumps.

use super::{ALPHANUMERIC, BASE64, Case, HEX, LOWER, Random, Way};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeSet;

/// A document with placeholders: `@P@` for a password, `@L@` for one of letters only, `@T@` for a token,
/// `@H@` for 32 hexadecimal digits, `@B@` for Base64 of 64 characters, `@U@` for Base64 of `user:@P@`.
const DOCUMENTS: &[(&str, &str)] = &[
    (".env", "# settings\nHOST=x\nDB_PASSWORD=@P@\nexport SMTP_PASS=\"@L@\"\n"),
    (".env with symbols", "DB_PASSWORD=@P@(word)@L@\n"),
    (
        "docker-compose",
        "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: @L@\n      - \"REDIS_PASSWORD=@P@\"\n",
    ),
    (
        "kubeconfig",
        "users:\n- name: me\n  user:\n    client-certificate-data: abc\n    client-key-data: @B@\n    token: @T@\n",
    ),
    (
        "kubernetes secret",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ntype: Opaque\ndata:\n  username: @B@\n  config: @B@\n",
    ),
    ("kubernetes secret, data first", "apiVersion: v1\ndata:\n  a: @B@\nkind: Secret\n"),
    ("kubernetes stringData", "kind: Secret\nstringData:\n  anything: @P@\n"),
    ("kubernetes env", "env:\n- name: DB_PASSWORD\n  value: \"@L@\"\n"),
    ("helm values", "postgresql:\n  auth:\n    postgresPassword: @L@\n    existingSecret: \"\"\n"),
    ("ansible", "db_password: @P@\nvault_token: @T@\n"),
    (
        "terraform",
        "variable \"db_password\" {}\nresource \"x\" \"y\" {\n  password = \"@P@\"\n  secret_key = \"@T@\"\n}\n",
    ),
    ("terraform.tfvars", "db_password = \"@L@\"\napi_token   = \"@T@\"\n"),
    (".netrc", "machine api.example.com login bob password @L@\n"),
    (".netrc over lines", "machine api.example.com\n  login bob\n  password @P@\n"),
    (".pgpass", "db.example.com:5432:app:bob:@L@\nlocalhost:*:*:ann:@P@\n"),
    (".npmrc", "//npm.example.com/:_authToken=@T@\n_auth=@U@\n"),
    (".npmrc password", "//registry.example.com/:_password=@B@\n"),
    (".pypirc", "[pypi]\nusername = __token__\npassword = @T@\n"),
    ("docker config", "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"@U@\"}}}"),
    ("git credentials", "https://bob:@P@@github.com\n"),
    (
        "aws credentials",
        "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = @B@\naws_session_token = @B@\n",
    ),
    (
        "azure storage",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@B@==;EndpointSuffix=core.windows.net",
    ),
    (
        "azure service bus",
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@B@=",
    ),
    ("ADO.NET", "Server=db;Database=app;User Id=sa;Password=@L@;Encrypt=true"),
    ("ODBC", "Driver={SQL Server};Server=db;UID=sa;PWD=@P@;"),
    ("libpq", "host=db user=bob password=@L@ dbname=app"),
    ("psql", "psql \"host=db user=bob password=@L@ sslmode=require\""),
    ("postgres URL", "postgres://bob:@P@@db.example.com:5432/app"),
    ("mysql URL", "mysql://root:@L@@127.0.0.1/app"),
    ("mongodb URL", "mongodb+srv://bob:@P@@cluster0.example.net/test?retryWrites=true"),
    ("redis URL", "redis://:@P@@cache.example.com:6379/0"),
    ("amqp URL", "amqp://guest:@L@@mq.example.com:5672/%2f"),
    ("ftp URL", "ftp://bob:@P@@files.example.com/x"),
    ("smtp URL", "smtp://bob:@L@@mail.example.com:587"),
    ("sentry DSN", "https://@H@@o0.ingest.sentry.io/1"),
    ("jdbc", "jdbc:postgresql://db:5432/app?user=bob&password=@P@&ssl=true"),
    ("jdbc sqlserver", "jdbc:sqlserver://db:1433;databaseName=app;user=sa;password=@L@;encrypt=true"),
    ("jdbc oracle", "jdbc:oracle:thin:scott/@P@@//db:1521/orcl"),
    ("address without scheme", "connecting to bob:@P@@db.example.com:5432/app"),
    ("Go MySQL", "root:@P@@tcp(127.0.0.1:3306)/app?parseTime=true"),
    ("curl -u", "curl -u bob:@P@ https://api.example.com/"),
    ("curl -u quoted", "curl -sS -u 'bob:@L@' https://api.example.com/"),
    ("curl --user", "curl --user bob:@P@ https://api.example.com/"),
    ("curl header", "curl -H \"Authorization: Token @T@\" https://api.example.com/"),
    ("curl data", "curl -d 'user=bob&password=@L@' https://api.example.com/"),
    ("curl JSON", "curl -d '{\"password\":\"@L@\"}' https://api.example.com/"),
    ("mysql -p", "mysql -u root -p@P@ app < dump.sql"),
    ("mysqldump", "mysqldump --user=root --password=@L@ app"),
    ("sshpass", "sshpass -p @L@ ssh bob@host"),
    ("redis-cli", "redis-cli -h cache -a @P@ ping"),
    ("docker login", "docker login -u bob -p @P@ registry.example.com"),
    ("mongosh", "mongosh -u bob -p @L@ --authenticationDatabase admin"),
    ("ldapsearch", "ldapsearch -x -D cn=admin -w @P@ -b dc=x"),
    ("smbclient", "smbclient //host/share -U bob%@P@"),
    ("sqlcmd", "sqlcmd -S db -U sa -P @P@ -Q 'select 1'"),
    ("PGPASSWORD", "PGPASSWORD=@L@ psql -h db -U bob app"),
    ("option with a dash", "srv --password -x9@P@ run"),
    ("SQL create user", "CREATE USER bob IDENTIFIED BY '@L@';"),
    ("SQL alter role", "ALTER ROLE bob WITH PASSWORD '@P@';"),
    ("SQL create login", "CREATE LOGIN bob WITH PASSWORD = N'@P@';"),
    ("SQL set password", "SET PASSWORD FOR 'bob'@'%' = '@P@';"),
    ("SQL update", "UPDATE users SET password = '@L@' WHERE id = 1"),
    (
        "SQL insert",
        "INSERT INTO users (name, password, mail) VALUES ('bob', '@L@', 'b@x.dev'), ('ann', '@P@', 'a@x.dev');",
    ),
    ("CSV", "id,name,password\n1,bob,@L@\n2,ann,@P@\n"),
    ("CSV behind prose", "Here is the export:\n\nname;api_key\nbob;@T@\n"),
    ("TSV", "name\tsecret\nbob\t@L@\n"),
    ("psql output", " name | password \n------+----------\n bob  | @L@ \n"),
    ("markdown table", "Users:\n\n| name | token |\n|------|-------|\n| bob | @T@ |\n"),
    (
        "web.config",
        "<configuration><appSettings><add key=\"ApiKey\" value=\"@T@\"/><add key=\"Mode\" value=\"x\"/></appSettings></configuration>",
    ),
    ("connectionStrings", "<add name=\"Db\" connectionString=\"Server=db;User Id=sa;Password=@P@;\" />"),
    ("maven settings", "<server><id>x</id><username>bob</username><password>@L@</password></server>"),
    (
        "nuget.config",
        "<packageSourceCredentials><x><add key=\"Username\" value=\"bob\"/><add key=\"ClearTextPassword\" value=\"@P@\"/></x></packageSourceCredentials>",
    ),
    ("plist", "<dict><key>Password</key><string>@L@</string></dict>"),
    ("android strings", "<resources><string name=\"api_key\">@T@</string></resources>"),
    ("spring properties", "spring.datasource.username=bob\nspring.datasource.password=@L@\n"),
    ("spring yaml", "spring:\n  datasource:\n    username: bob\n    password: @L@\n"),
    ("application.ini", "[mail]\nuser=bob\npasswd=@L@\n"),
    ("toml", "[auth]\nclient_secret = \"@T@\"\n"),
    ("rails credentials", "secret_key_base: @H@@H@\nsmtp:\n  password: @P@\n"),
    ("django settings", "SECRET_KEY = '@B@'\nDATABASES = {'default': {'PASSWORD': '@L@'}}\n"),
    ("php config", "define('DB_PASSWORD', '@P@');\n$config['password'] = '@L@';\n"),
    ("wp-config", "define( 'AUTH_KEY', '@B@' );\n"),
    ("properties aligned", "username             :          bob\npassword             :          @L@\n"),
    ("redis.conf", "bind 127.0.0.1\nrequirepass @L@\n"),
    ("wireguard", "[Interface]\nPrivateKey = @B@=\nAddress = 10.0.0.2/24\n[Peer]\nPresharedKey = @B@=\n"),
    ("wifi", "network={\n  ssid=\"home\"\n  psk=\"@L@\"\n}\n"),
    ("ssh config", "Host x\n  User bob\n  # password: @L@\n"),
    ("git remote", "origin  https://x-access-token:@T@@github.com/a/b.git (fetch)"),
    (
        "HAR",
        "{\"log\":{\"entries\":[{\"request\":{\"headers\":[{\"name\":\"Authorization\",\"value\":\"Bearer @T@\"},{\"name\":\"Cookie\",\"value\":\"sid=@T@\"}]}}]}}",
    ),
    ("postman", "{\"values\":[{\"key\":\"token\",\"value\":\"@T@\",\"enabled\":true}]}"),
    ("ECS", "{\"containerDefinitions\":[{\"environment\":[{\"name\":\"DB_PASSWORD\",\"value\":\"@L@\"}]}]}"),
    ("terraform output", "{\"db_password\":{\"sensitive\":true,\"type\":\"string\",\"value\":\"@L@\"}}"),
    (
        "secrets manager",
        "{\"Name\":\"x\",\"SecretString\":\"{\\\"username\\\":\\\"bob\\\",\\\"password\\\":\\\"@L@\\\"}\"}",
    ),
    (
        "parameter store",
        "{\"Parameter\":{\"Name\":\"/app/db_password\",\"Type\":\"SecureString\",\"Value\":\"@L@\"}}",
    ),
    ("vault", "{\"data\":{\"data\":{\"password\":\"@L@\"}},\"auth\":{\"client_token\":\"@T@\"}}"),
    (
        "kubernetes secret in JSON",
        "{\"apiVersion\":\"v1\",\"data\":{\"config\":\"@B@\"},\"kind\":\"Secret\"}",
    ),
    (
        "JWK",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"abc\",\"e\":\"AQAB\",\"d\":\"@B@\",\"p\":\"@B@\",\"q\":\"@B@\"}]}",
    ),
    ("JWK, type last", "{\"k\":\"@B@\",\"alg\":\"HS256\",\"kty\":\"oct\"}"),
    (
        "service account",
        "{\"type\":\"service_account\",\"project_id\":\"x\",\"private_key\":\"@PEM@\",\"client_email\":\"x@y.iam.gserviceaccount.com\"}",
    ),
    (
        "OAuth answer",
        "{\"access_token\":\"@T@\",\"token_type\":\"Bearer\",\"expires_in\":3600,\"refresh_token\":\"@T@\"}",
    ),
    ("OAuth form", "grant_type=password&username=bob&password=@L@&client_secret=@T@"),
    ("OAuth callback", "https://x.dev/cb?code=@T@&state=abc"),
    ("signed URL", "https://x.blob.core.windows.net/c/f?sv=2022&sp=r&SIG=@T@"),
    ("S3 URL", "https://b.s3.amazonaws.com/k?X-Amz-Credential=x&X-Amz-Signature=@H@@H@"),
    ("mongo answer", "{\"result\":{\"cursor\":{\"firstBatch\":[{\"user\":\"bob\",\"password\":\"@L@\"}]}}}"),
    ("Cookie header", "Cookie: theme=\"dark\"; sid=@T@"),
    ("Set-Cookie header", "Set-Cookie: data=\"x\"; session=@T@; Path=/"),
    ("Digest header", "Authorization: Digest username=\"bob\", realm=\"x\", nonce=\"y\", response=\"@H@\""),
    ("OAuth 1 header", "Authorization: OAuth oauth_consumer_key=\"x\", oauth_signature=\"@T@\""),
    ("Basic header", "Authorization: Basic @U@"),
    ("Bearer with a tab", "authorization:\tBearer\t@T@"),
    ("API key header", "X-Api-Key: @L@"),
    ("AWS header", "Authorization: AWS4-HMAC-SHA256 Credential=x/y, SignedHeaders=host, Signature=@H@@H@"),
    ("HTTP request", "GET / HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic @U@\r\nAccept: */*\r\n\r\n"),
    ("logfmt", "time=12 level=info msg=\"login\" user=bob password=@L@ ok=true"),
    ("pino", "{\"level\":30,\"req\":{\"headers\":{\"authorization\":\"Bearer @T@\",\"x-api-key\":\"@T@\"}}}"),
    (
        "zerolog",
        "\u{1b}[90m12:00\u{1b}[0m \u{1b}[32mINF\u{1b}[0m login \u{1b}[36mpassword=\u{1b}[0m@P@ \u{1b}[36muser=\u{1b}[0mbob",
    ),
    ("Python repr", "{'user': 'bob', 'password': '@L@', 'port': 1}"),
    ("Ruby inspect", "{:user=>\"bob\", :password=>\"@L@\"}"),
    ("Go struct", "{User:bob Password:@P@ Port:1}"),
    ("Rust debug", "Config { user: \"bob\", password: \"@L@\" }"),
    ("Java toString", "Config[user=bob, password=@P@, port=1]"),
    ("traceback", "  File \"x.py\", line 3\n    connect(user=\"bob\", password=\"@L@\")\n"),
    ("mail with a password", "Hello,\n\nyour password is @P@.\n\nBye"),
    ("chat", "The API key: @T@ works"),
    ("shell history", "  12  export GITHUB_TOKEN=@T@\n  13  ls\n"),
    ("PowerShell", "$env:API_KEY = \"@T@\"\n$password = \"@L@\"\n"),
    ("batch", "set DB_PASSWORD=@P@\r\n"),
    ("Dockerfile", "FROM x\nENV API_KEY=@T@\nARG DB_PASSWORD=@L@\n"),
    ("GitHub workflow", "env:\n  API_TOKEN: @T@\n"),
    ("crontab", "0 * * * * backup --password=@L@ /srv\n"),
    ("systemd", "[Service]\nEnvironment=\"DB_PASSWORD=@L@\"\n"),
    ("nginx", "proxy_set_header Authorization \"Basic @U@\";\n"),
    ("htpasswd", "bob:$apr1$abcdefgh$@H@\n"),
    ("shadow", "root:$6$abcdefgh$@B@@H@:19000:0:99999:7:::\n"),
    (
        "MCP client",
        "{\"mcpServers\":{\"x\":{\"command\":\"npx\",\"args\":[\"-y\",\"srv\",\"--api-key\",\"@T@\"],\"env\":{\"SLACK_TOKEN\":\"@T@\"}}}}",
    ),
    ("slack webhook", "https://hooks.slack.com/services/T00000000/B00000000/@T@"),
    ("discord webhook", "https://discord.com/api/webhooks/123456789012345678/@T@@T@"),
    ("teams webhook", "https://x.webhook.office.com/webhookb2/@T@/IncomingWebhook/@H@"),
    ("zapier webhook", "https://hooks.zapier.com/hooks/catch/1234567/@T@/"),
    ("config in Base64", "@B64CONFIG@"),
    ("PEM", "before\n@PEM@\nafter"),
    ("PEM on one line", "@PEMLINE@"),
    ("YAML with PEM", "tls:\n  key: |\n    @PEMINDENT@\n"),
    ("PuTTY", "PuTTY-User-Key-File-3: ssh-ed25519\nComment: x\nPrivate-Lines: 1\n@B@\nPrivate-MAC: @H@\n"),
    ("passphrase", "passphrase: @L@ @L@ @L@\n"),
    ("markdown settings", "| Setting | Value |\n|---|---|\n| port | 80 |\n| SMTP_PASSWORD | @L@ |\n"),
    ("CSV of names and values", "name,value\nregion,eu\ndb_password,@L@\n"),
    (
        "SQL insert of settings",
        "INSERT INTO settings (name, value) VALUES ('theme', 'dark'), ('smtp_password', '@L@');",
    ),
    ("SQL plugin", "ALTER USER root@localhost IDENTIFIED WITH mysql_native_password BY '@L@';"),
    ("SQL password function", "SET PASSWORD FOR 'bob'@'localhost' = PASSWORD('@L@');"),
    ("Hadoop", "<property><name>fs.s3a.secret.key</name><value>@T@</value></property>"),
    ("KeePass", "<String><Key>Password</Key><Value ProtectInMemory=\"True\">@L@</Value></String>"),
    ("WS-Security", "<wsse:Password Type=\"x\">@L@</wsse:Password>"),
    ("keytool", "keytool -list -keystore k.jks -storepass @L@ -keypass @P@"),
    ("openssl", "openssl rsa -in k.pem -passin pass:@L@"),
    ("snmpwalk", "snmpwalk -v3 -u bob -A @L@ -X @P@ host"),
    ("curl with a token as the user", "curl -u @T@: https://ci.example.com/api"),
    ("fstab", "//srv/share /mnt cifs username=bob,password=@L@,uid=1000 0 0\n"),
    ("msmtp", "account x\nuser bob\npassword @L@\n"),
    ("yarn", "npmAuthIdent: \"bob:@P@\"\n"),
    ("Rust debug of an option", "Config { user: \"bob\", password: Some(\"@L@\") }"),
    ("unseal keys", "Unseal Key 1: @B@\nUnseal Key 2: @B@\n"),
    ("1-item JSON array of args", "[\"mysql\",\"--password\",\"@L@\"]"),
    ("sheet", "{\"values\":[[\"name\",\"password\"],[\"bob\",\"@L@\"],[\"ann\",\"@P@\"]]}"),
    ("GraphQL", "{\"query\":\"mutation { login(user: \\\"bob\\\", password: \\\"@L@\\\") { id } }\"}"),
    ("query variables", "{\"variables\":{\"input\":{\"email\":\"a@b.dev\",\"password\":\"@L@\"}}}"),
];

/// The ways in which a document reaches the redactor.
fn ways(text: &str) -> Vec<Way> {
    if text.starts_with('{') && serde_json::from_str::<serde_json::Value>(text).is_ok() {
        vec![Way::Json, Way::Text]
    } else {
        vec![Way::Text]
    }
}

/// The documents before anything is filled in, each once.
pub(super) fn templates() -> BTreeSet<&'static str> {
    DOCUMENTS.iter().map(|(_, template)| *template).collect()
}

pub(super) fn documents() -> Vec<Case> {
    let mut random = Random::new(29);
    let mut cases = Vec::new();
    for (name, template) in DOCUMENTS {
        let (text, secrets) = filled(template, &mut random);
        for way in ways(&text) {
            let group = format!("document, {way:?}");
            cases.push(Case {
                group,
                what: (*name).to_owned(),
                way,
                text: text.clone(),
                secrets: secrets.clone(),
            });
        }
        // The usual way: the text of a tool's result.
        let wrapped =
            serde_json::json!({"result": {"content": [{"type": "text", "text": text}]}}).to_string();
        cases.push(Case {
            group: "document, in a result".into(),
            what: (*name).to_owned(),
            way: Way::Json,
            text: wrapped,
            secrets: secrets.clone(),
        });
        if text.contains("PRIVATE KEY") || text.starts_with("PuTTY") {
            cases.push(Case {
                group: "document, line by line".into(),
                what: (*name).to_owned(),
                way: Way::Lines,
                text,
                secrets,
            });
        }
    }
    cases
}

fn filled(template: &str, random: &mut Random) -> (String, Vec<String>) {
    let mut text = template.to_owned();
    let mut secrets = Vec::new();
    let pem = |random: &mut Random, separator: &str, secrets: &mut Vec<String>| {
        let lines: Vec<String> = (0..4).map(|_| random.text(BASE64, 64)).collect();
        secrets.extend(lines.iter().cloned());
        let label = ["PRIVATE", "KEY"].join(" ");
        format!("-----BEGIN {label}-----{separator}{}{separator}-----END {label}-----", lines.join(separator))
    };
    while let Some(start) = text.find('@').filter(|_| text.contains("@")) {
        let Some((place, name)) = next_place(&text, start) else { break };
        let value = match name.as_str() {
            "P" => random.text(ALPHANUMERIC, 10) + "7x",
            "L" => random.text(LOWER, 14),
            "T" => random.text(ALPHANUMERIC, 30) + "4",
            "H" => random.text(HEX, 32),
            "B" => random.text(BASE64, 64).replace('/', "a"),
            "U" => STANDARD.encode(format!("bob:{}", random.text(ALPHANUMERIC, 12))),
            "PEM" if text.starts_with('{') => pem(random, "\\n", &mut secrets),
            "PEM" => pem(random, "\n", &mut secrets),
            "PEMLINE" => pem(random, "\\n", &mut secrets),
            "PEMINDENT" => pem(random, "\n    ", &mut secrets),
            _ => STANDARD.encode(format!("host: x\npassword: {}\n", random.text(ALPHANUMERIC, 16))),
        };
        if !name.starts_with("PEM") {
            secrets.push(value.clone());
        }
        text.replace_range(place, &value);
    }
    (text, secrets)
}

/// The next placeholder `@NAME@` in a text.
fn next_place(text: &str, from: usize) -> Option<(std::ops::Range<usize>, String)> {
    ["PEMINDENT", "PEMLINE", "PEM", "B64CONFIG", "P", "L", "T", "H", "B", "U"]
        .into_iter()
        .filter_map(|name| {
            let place = format!("@{name}@");
            text[from..].find(&place).map(|at| (from + at..from + at + place.len(), name.to_owned()))
        })
        .min_by_key(|(range, _)| range.start)
}
