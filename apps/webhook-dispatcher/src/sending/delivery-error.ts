/** Carries a code that `reasonOfError` knows. */
export class DeliveryError extends Error {
  readonly code:
    | 'BLOCKED_ADDRESS'
    | 'DELIVERY_TIMEOUT'
    | 'DNS_FAILED'
    | 'MALFORMED_RESPONSE'
    | 'PROXY_FAILED'
    | 'TUNNEL_FAILED';

  constructor(code: DeliveryError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DeliveryError';
    this.code = code;
  }
}
