//! Tests of requests.

use super::Request;

#[test]
fn query_is_encoded() {
    let request = Request::get("/api/v1/pods")
        .query("labelSelector", "app in (x,y),!old")
        .query("continue", "a+b/c==");
    assert_eq!(
        request.target,
        "/api/v1/pods?labelSelector=app%20in%20%28x%2Cy%29%2C%21old&continue=a%2Bb%2Fc%3D%3D"
    );
    assert_eq!(request.path(), "/api/v1/pods");
}
