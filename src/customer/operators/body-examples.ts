/** Bodies that the contract shows. */
export const NEW_CUSTOMER_EXAMPLES = {
  supplier: {
    summary: 'A customer that logs in and delivers some products',
    value: { Email: 'shop@example.com', Name: 'Kitap A.Ş.', IsAPI: true, Regions: ['TR'], AuthorityRules: ['SKU-*'] },
  },
  operator: {
    summary: 'An operator for support with a password of its own choice',
    value: {
      Email: 'support@example.com',
      Password: 'correct horse battery staple',
      IsAPI: true,
      Scope: 'operator:support',
    },
  },
}

export const NEW_KEY_EXAMPLES = {
  limited: { summary: 'A key with a limit of deliveries', value: { Label: 'erp', RateLimit: 600 } },
  bound: {
    summary: 'A key that ends, and works from one network only',
    value: { Label: 'erp', ExpiresAt: '2027-11-21T00:00:00Z', Networks: ['203.0.113.0/24'] },
  },
}
