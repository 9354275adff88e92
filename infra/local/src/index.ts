/** What others may use of the local stack. */
export {};
