export { createSigner, sign, type Message, type SignatureHeaders, type Signer } from './sign.ts';
export { decodeSecret, generateSecret, InvalidSecretError } from './signing-secret.ts';
export { verify, type Refusal, type Verification, type VerificationResult } from './verify.ts';
