const LOGIN = '/login/customer/api/verify'

/** A token that a login on this page gave is used by what is tried next. */
function useToken(answer) {
  const data = answer.url?.toLowerCase().endsWith(LOGIN) && answer.ok ? answer.body?.data : undefined
  // The settings of the service decide the spelling.
  const token = data?.Token ?? data?.token
  if (token) reference.preauthorizeApiKey('bearer', token)
  return answer
}

const reference = window.SwaggerUIBundle({
  url: '/openapi.yaml',
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  // Else the page would ask a validator on the internet about this service.
  validatorUrl: null,
  responseInterceptor: useToken,
})

const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
