/**
 * What the listeners present in a TLS handshake. One `Presented` for a process; HTTP and SMTP listeners open a `Presenting` of it, each for
 * the host that it has by default.
 *
 * Which certificate: for the host that a client asks for, the configured files (QUARTERDECK_TLS_CERT) if they name it, else one that was ordered
 * (areas/certificates is the source), else the default of the listener. The default is the same for the listener's own host; then the configured
 * files whatever they name; then a self-signed one until the first arrives. A change reaches the next handshake; open connections keep theirs.
 *
 * Proofs for a certificate authority: `answerProofs` serves HTTP-01 (RFC 8555, 8.3) on any HTTP listener. `takeProofConnections` serves TLS-ALPN-01
 * (RFC 8737): it reads the ClientHello (client-hello.ts) of every connection before TLS does, because Node chooses the certificate before it
 * tells the application protocol.
 *
 * All state is in memory. Without a source (no QUARTERDECK_ACME) every answer is "none".
 */
export { answerProofs } from './answer-proofs.ts';
export { isCertifiable } from './certifiable.ts';
export { alwaysPresent, type CertificateSource, makePresented, type Presented, type Presenting, type TlsContexts } from './presented.ts';
export { takeProofConnections } from './proof-connections.ts';
export { servesTls } from './serves-tls.ts';
